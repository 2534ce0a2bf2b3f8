package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

func franzClient(address, clientID string, options ...kgo.Opt) (*kgo.Client, error) {
	options = append(options, kgo.SeedBrokers(address))
	if clientID != "" {
		options = append(options, kgo.ClientID(clientID))
	}
	if saslUser != "" {
		options = append(options, kgo.SASL(plain.Auth{User: saslUser, Pass: saslPassword}.AsMechanism()))
	}
	return kgo.NewClient(options...)
}

func runFranz(address, prefix, topic string) {
	did("produce", "kgo", func() error { return franzProduce(address, topic) })
	did("transaction", prefix+"-txp", func() error { return franzTransaction(address, prefix+"-txp", topic) })
	did("consume", "kgo", func() error { return franzConsume(address, "", "g-"+prefix, topic) })
	// In the same group, so that it goes on from committed offsets.
	did("consume", prefix+"-c1", func() error { return franzConsume(address, prefix+"-c1", "g-"+prefix, topic) })
	did("admin", prefix+"-adm", func() error { return franzAdmin(address, prefix+"-adm", "g-"+prefix, topic) })
}

func franzProduce(address, topic string) error {
	client, err := franzClient(address, "")
	if err != nil {
		return err
	}
	defer client.Close()
	limited, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	records := make([]*kgo.Record, messages)
	for index := range records {
		records[index] = &kgo.Record{Topic: topic, Value: []byte("value")}
	}
	return client.ProduceSync(limited, records...).FirstErr()
}

func franzTransaction(address, clientID, topic string) error {
	client, err := franzClient(address, clientID, kgo.TransactionalID(clientID))
	if err != nil {
		return err
	}
	defer client.Close()
	limited, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	if err = client.BeginTransaction(); err != nil {
		return err
	}
	sent := client.ProduceSync(limited, &kgo.Record{Topic: topic, Value: []byte("in a transaction")}).FirstErr()
	return errors.Join(sent, client.EndTransaction(limited, kgo.TryCommit))
}

func franzConsume(address, clientID, group, topic string) error {
	client, err := franzClient(address, clientID, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(), kgo.HeartbeatInterval(stay/4))
	if err != nil {
		return err
	}
	defer client.Close()
	limited, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	for {
		fetches := client.PollRecords(limited, 10)
		if err = fetches.Err(); err != nil {
			return err
		}
		if fetches.NumRecords() > 0 {
			err = client.CommitUncommittedOffsets(limited)
			time.Sleep(stay)
			return err
		}
	}
}

func franzAdmin(address, clientID, group, topic string) error {
	client, err := franzClient(address, clientID)
	if err != nil {
		return err
	}
	defer client.Close()
	limited, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	admin := kadm.NewClient(client)
	_, listed := admin.ListTopics(limited)
	_, made := admin.CreateTopic(limited, 1, 1, nil, clientID)
	described, failed := admin.DescribeTopicConfigs(limited, topic)
	if failed == nil && len(described) != 1 {
		failed = fmt.Errorf("%d configurations instead of one", len(described))
	}
	partition := kadm.TopicsSet{topic: {0: {}}}
	_, deleted := admin.DeleteOffsets(limited, group, partition)
	return errors.Join(listed, made, failed, deleted)
}
