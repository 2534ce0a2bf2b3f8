// Does with kafkajs what a client of Kafka does, and prints one line per role: the role, the client id that it used and
// what went wrong, as JSON. Arguments: ADDRESS PREFIX TOPIC. NODE_PATH names the folder with kafkajs.
const { Kafka, logLevel } = require("kafkajs");

const MESSAGES = 50;
const PATIENCE_MS = 40_000;
const STAY_MS = 2_000; // in a group, so that it sends heartbeats
const [address, prefix, topic] = process.argv.slice(2);
const client = (clientId) => new Kafka({ brokers: [address], clientId, logLevel: logLevel.NOTHING, ...security() });

// With SASL/PLAIN, if KAFKA_SASL holds USER:PASSWORD.
function security() {
  const [username, ...password] = (process.env.KAFKA_SASL ?? "").split(":");
  return username ? { sasl: { mechanism: "plain", username, password: password.join(":") } } : {};
}

async function did(role, clientId, work) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${PATIENCE_MS} ms`)), PATIENCE_MS);
  });
  const error = await Promise.race([work(), late]).then(() => null, (failure) => String(failure));
  clearTimeout(timer);
  console.log(JSON.stringify({ role, client_id: clientId ?? "kafkajs", error }));
}

async function produce() {
  const producer = client().producer();
  await producer.connect();
  const messages = Array.from({ length: MESSAGES }, () => ({ value: "value" }));
  await producer.send({ topic, messages });
  await producer.disconnect();
}

async function consume(clientId, groupId) {
  const consumer = client(clientId).consumer({ groupId, heartbeatInterval: STAY_MS / 4 });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, (event) => reject(event.payload.error));
    consumer.run({ eachMessage: async () => resolve() }).catch(reject);
  });
  await new Promise((resolve) => setTimeout(resolve, STAY_MS));
  await consumer.disconnect(); // commits too
}

async function administer(clientId) {
  const admin = client(clientId).admin();
  await admin.connect();
  await admin.listTopics();
  await admin.createTopics({ topics: [{ topic: clientId, replicationFactor: 1 }] });
  await admin.describeConfigs({ includeSynonyms: false, resources: [{ type: 2, name: topic }] });
  await admin.deleteGroups([`g-${prefix}`]);
  await admin.disconnect();
}

(async () => {
  await did("produce", undefined, produce);
  await did("consume", undefined, () => consume(undefined, `g-${prefix}`));
  await did("consume", `${prefix}-c1`, () => consume(`${prefix}-c1`, `g-${prefix}-c1`));
  await did("admin", `${prefix}-adm`, () => administer(`${prefix}-adm`));
  process.exit(0); // not waiting for a client that cannot close
})();
