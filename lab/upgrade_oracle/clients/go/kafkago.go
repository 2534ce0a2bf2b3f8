package main

import (
	"context"
	"errors"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
)

// kafkaGoSASL is nil without SASL, as the library expects.
func kafkaGoSASL() sasl.Mechanism {
	if saslUser == "" {
		return nil
	}
	return plain.Mechanism{Username: saslUser, Password: saslPassword}
}

func runKafkaGo(address, prefix, topic string) {
	kafka.DefaultDialer.SASLMechanism = kafkaGoSASL()
	kafka.DefaultTransport.(*kafka.Transport).SASL = kafkaGoSASL()
	// The Writer's own transport has an empty client id.
	did("produce", "", func() error { return kafkaGoProduce(address, topic) })
	did("consume", kafka.DefaultClientID, func() error { return kafkaGoConsume(address, nil, "g-"+prefix, topic) })
	dialer := &kafka.Dialer{ClientID: prefix + "-c1", Timeout: patience, SASLMechanism: kafkaGoSASL()}
	did("consume", dialer.ClientID, func() error { return kafkaGoConsume(address, dialer, "g-"+prefix+"-c1", topic) })
	did("admin", prefix+"-adm", func() error { return kafkaGoAdmin(address, prefix+"-adm", "g-"+prefix, topic) })
}

func kafkaGoProduce(address, topic string) error {
	writer := &kafka.Writer{Addr: kafka.TCP(address), Topic: topic, BatchSize: messages}
	defer writer.Close()
	limited, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	written := make([]kafka.Message, messages)
	for index := range written {
		written[index].Value = []byte("value")
	}
	return writer.WriteMessages(limited, written...)
}

func kafkaGoConsume(address string, dialer *kafka.Dialer, group, topic string) error {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{address}, GroupID: group, Topic: topic, Dialer: dialer, StartOffset: kafka.FirstOffset,
		HeartbeatInterval: stay / 4,
	})
	defer reader.Close()
	limited, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	_, err := reader.ReadMessage(limited) // commits too
	if err == nil {
		time.Sleep(stay)
	}
	return err
}

func kafkaGoAdmin(address, clientID, group, topic string) error {
	client := &kafka.Client{Addr: kafka.TCP(address), Transport: &kafka.Transport{ClientID: clientID, SASL: kafkaGoSASL()}}
	limited, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	_, listed := client.Metadata(limited, &kafka.MetadataRequest{})
	created := []kafka.TopicConfig{{Topic: clientID, NumPartitions: 1, ReplicationFactor: 1}}
	made, failed := client.CreateTopics(limited, &kafka.CreateTopicsRequest{Topics: created})
	failures := []error{listed, failed}
	if failed == nil {
		failures = append(failures, made.Errors[clientID])
	}
	resources := []kafka.DescribeConfigRequestResource{{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic}}
	_, described := client.DescribeConfigs(limited, &kafka.DescribeConfigsRequest{Resources: resources})
	offsets := &kafka.OffsetDeleteRequest{GroupID: group, Topics: map[string][]int{topic: {0}}}
	_, deleted := client.OffsetDelete(limited, offsets)
	return errors.Join(append(failures, described, deleted)...)
}
