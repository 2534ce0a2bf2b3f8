// Command go_k does with one of three Go libraries what a client of Kafka does, and prints one line per role:
// the role, the client id that it used and what went wrong, as JSON.
//
//	go_k LIBRARY ADDRESS PREFIX TOPIC
//
// With SASL/PLAIN, if the environment's KAFKA_SASL holds USER:PASSWORD.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

const (
	messages = 50
	patience = 40 * time.Second
	stay     = 2 * time.Second // in a group, so that a consumer sends heartbeats
)

// The credentials for SASL/PLAIN; no SASL if the user is empty.
var saslUser, saslPassword, _ = strings.Cut(os.Getenv("KAFKA_SASL"), ":")

type role func() error

// did runs a role and prints its outcome; a library that never returns counts as failed.
func did(name, clientID string, work role) {
	result := make(chan error, 1)
	go func() { result <- work() }()
	var failure error
	select {
	case failure = <-result:
	case <-time.After(patience + 5*time.Second):
		failure = fmt.Errorf("not done after %s", patience+5*time.Second)
	}
	line := map[string]any{"role": name, "client_id": clientID, "error": nil}
	if failure != nil {
		line["error"] = failure.Error()
	}
	text, _ := json.Marshal(line)
	fmt.Println(string(text))
}

func main() {
	library, address, prefix, topic := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	switch library {
	case "sarama", "sarama-old":
		runSarama(library == "sarama-old", address, prefix, topic)
	case "franz-go":
		runFranz(address, prefix, topic)
	case "kafka-go":
		runKafkaGo(address, prefix, topic)
	}
}
