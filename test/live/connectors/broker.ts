import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mqtt, { type MqttClient } from 'mqtt';
import { freePort, startServer } from './started-server.ts';

/** Mosquitto on a loopback port; `again` starts it once more where it was. */
export async function startBroker(settings = '') {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'atmo-broker-'));
  const file = join(folder, 'mosquitto.conf');
  writeFileSync(file, `listener ${port} 127.0.0.1\n${settings || 'allow_anonymous true\n'}`);
  const start = () => startServer('mosquitto', ['-c', file], { port });
  let server = await start();
  return {
    port,
    url: `mqtt://127.0.0.1:${port}`,
    folder,
    stop: () => server.stop(),
    async again() {
      server = await start();
    },
    async [Symbol.asyncDispose]() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** What a topic was told: the newest last. */
interface Heard {
  readonly topic: string;
  readonly text: string;
  readonly isRetained: boolean;
}

/** A client that hears some topics and may say something. */
export class BrokerEar implements AsyncDisposable {
  readonly heard: Heard[] = [];
  readonly #client: MqttClient;

  private constructor(client: MqttClient) {
    this.#client = client;
    client.on('message', (topic, payload, { retain }) => this.heard.push({ topic, text: payload.toString(), isRetained: retain }));
  }

  static async listen(url: string, ...filters: readonly string[]): Promise<BrokerEar> {
    const client = await mqtt.connectAsync(url, { protocolVersion: 5, reconnectPeriod: 200 });
    const ear = new BrokerEar(client);
    await client.subscribeAsync([...filters], { qos: 1, rap: true });
    return ear;
  }

  /** The newest text of a topic; undefined before the first. */
  last(topic: string): string | undefined {
    return this.heard.findLast((one) => one.topic === topic)?.text;
  }

  async say(topic: string, text: string, retain = false): Promise<void> {
    await this.#client.publishAsync(topic, text, { qos: 1, retain });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.endAsync(true);
  }
}
