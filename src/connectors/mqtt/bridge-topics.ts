import { slug } from '../../core/ids.ts';
import type { BridgeConfig } from './mqtt-config.ts';

/** Where the home stands on the broker. */
export class BridgeTopics {
  /** What tells this hub from others in topics and ids. */
  readonly node: string;
  readonly #base: string;
  readonly #discoveryPrefix: string;

  constructor(hubName: string, { baseTopic, discoveryPrefix }: Pick<BridgeConfig, 'baseTopic' | 'discoveryPrefix'>) {
    const name = slug(hubName, '-') || 'hub';
    this.node = `atmosphere-${name}`;
    this.#base = baseTopic ?? `atmosphere/${name}`;
    this.#discoveryPrefix = discoveryPrefix;
  }

  /** `online`, or `offline` as the hub's last will. */
  get status(): string {
    return `${this.#base}/status`;
  }

  /** Where commands that failed are told. */
  get errors(): string {
    return `${this.#base}/errors`;
  }

  /** Where Home Assistant tells that it has started. */
  get homeAssistantStatus(): string {
    return `${this.#discoveryPrefix}/status`;
  }

  /** Every command. */
  get commands(): string {
    return this.command('#');
  }

  /** Every entity that a hub of this name ever announced. */
  get announcements(): string {
    return this.announcement('+', '+');
  }

  available(device: string): string {
    return `${this.#base}/available/${device}`;
  }

  state(sensor: string): string {
    return `${this.#base}/state/${sensor}`;
  }

  command(sensor: string): string {
    return `${this.#base}/set/${sensor}`;
  }

  /** The sensor that a command is about; undefined for topics that are none. */
  commanded(topic: string): string | undefined {
    const prefix = this.command('');
    return topic.startsWith(prefix) ? topic.slice(prefix.length) : undefined;
  }

  /** Where Home Assistant looks for an entity (home-assistant.io/integrations/mqtt, discovery topic). */
  announcement(component: string, entity: string): string {
    return `${this.#discoveryPrefix}/${component}/${this.node}/${entity}/config`;
  }

  isAnnouncement(topic: string): boolean {
    const [prefix, component, node, entity, last, ...more] = topic.slice(this.#discoveryPrefix.length).split('/');
    const isWhole = prefix === '' && component !== undefined && entity !== undefined && more.length === 0;
    return topic.startsWith(this.#discoveryPrefix) && isWhole && node === this.node && last === 'config';
  }
}
