package main

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

func saramaConfig(old bool, clientID string) *sarama.Config {
	config := sarama.NewConfig()
	config.Version = versionFor(os.Getenv("KAFKA_VERSION"))
	if old {
		config.Version = sarama.V2_1_0_0 // what the program of that time said
	}
	if clientID != "" {
		config.ClientID = clientID
	}
	if saslUser != "" {
		config.Net.SASL.Enable = true
		config.Net.SASL.Mechanism = sarama.SASLTypePlaintext
		config.Net.SASL.User, config.Net.SASL.Password = saslUser, saslPassword
	}
	config.Producer.Return.Successes = true
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Group.Heartbeat.Interval = stay / 4
	return config
}

// versionFor is the release that the program was told, at most the newest that the library knows; 3.6 where none was told.
func versionFor(told string) sarama.KafkaVersion {
	version, err := sarama.ParseKafkaVersion(told)
	if err != nil {
		version, _ = sarama.ParseKafkaVersion("3.6.0")
	}
	if !sarama.MaxVersion.IsAtLeast(version) {
		return sarama.MaxVersion
	}
	return version
}

func runSarama(old bool, address, prefix, topic string) {
	brokers := []string{address}
	standard := sarama.NewConfig().ClientID
	did("produce", standard, func() error { return saramaProduce(saramaConfig(old, ""), brokers, topic) })
	for _, id := range []string{"", prefix + "-c1"} {
		config := saramaConfig(old, id)
		did("consume", config.ClientID, func() error {
			return saramaConsume(config, brokers, "g-"+prefix+id, topic)
		})
	}
	did("admin", prefix+"-adm", func() error {
		return saramaAdmin(saramaConfig(old, prefix+"-adm"), old, brokers, "g-"+prefix, prefix+"-adm", topic)
	})
}

func saramaProduce(config *sarama.Config, brokers []string, topic string) error {
	producer, err := sarama.NewSyncProducer(brokers, config)
	if err != nil {
		return err
	}
	defer producer.Close()
	for range messages {
		message := &sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder("value")}
		if _, _, err = producer.SendMessage(message); err != nil {
			return err
		}
	}
	return nil
}

// firstMessage commits the first message and ends its group's session a moment later.
type firstMessage struct {
	end  context.CancelFunc
	once *sync.Once
}

func (firstMessage) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (firstMessage) Cleanup(sarama.ConsumerGroupSession) error { return nil }
func (first firstMessage) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		first.once.Do(func() {
			session.MarkMessage(message, "")
			session.Commit()
			time.AfterFunc(stay, first.end)
		})
	}
	return nil
}

func saramaConsume(config *sarama.Config, brokers []string, group, topic string) error {
	consumer, err := sarama.NewConsumerGroup(brokers, group, config)
	if err != nil {
		return err
	}
	defer consumer.Close()
	waiting, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	consuming, received := context.WithCancel(waiting)
	defer received()
	for consuming.Err() == nil {
		if err = consumer.Consume(consuming, []string{topic}, firstMessage{received, new(sync.Once)}); err != nil && consuming.Err() == nil {
			return err
		}
	}
	return waiting.Err()
}

func saramaAdmin(config *sarama.Config, old bool, brokers []string, group, created, topic string) error {
	admin, err := sarama.NewClusterAdmin(brokers, config)
	if err != nil {
		return err
	}
	defer admin.Close()
	_, listed := admin.ListTopics()
	detail := &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}
	made := admin.CreateTopic(created, detail, false)
	resource := sarama.ConfigResource{Type: sarama.TopicResource, Name: topic}
	_, described := admin.DescribeConfig(resource)
	failures := []error{listed, made, described}
	deleted := admin.DeleteConsumerGroupOffset(group, topic, 0)
	if !old { // which has no OffsetDelete: it looks for the coordinator and gives up
		failures = append(failures, deleted)
	}
	return errors.Join(failures...)
}
