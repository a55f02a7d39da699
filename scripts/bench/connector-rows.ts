import type { Connector, ConnectorContext } from '../../src/connectors/connector.ts';
import type { ConnectorsConfig } from '../../src/connectors/connectors-config.ts';
import type { JsonObject } from '../../src/core/json.ts';

/** What a connector speaks to while it is measured; it runs outside of the measured process. */
export type RowServer = 'none' | 'http' | 'smtp' | 'mosquitto' | 'redis-server' | 'nats-server';

/** A connector under measurement. */
export interface ConnectorRow {
  readonly server: RowServer;
  /** What a server of HTTP answers to everything. */
  readonly answer?: JsonObject;
  /** The part of the configuration file, with the port of the server. */
  readonly config: (port: number) => JsonObject;
  readonly load: () => Promise<(ground: ConnectorContext, config: ConnectorsConfig) => Connector>;
  /** The call that is its first use, `{port}` in its texts filled; what is used by running needs none. */
  readonly use?: { readonly tool: string; readonly params: JsonObject };
}

const here = (port: number) => `http://127.0.0.1:${port}`;
const messages = async () => (await import('../../src/connectors/messages/messages-connector.ts')).openMessages;
const told = (way: JsonObject): JsonObject => ({ notify: { recipients: { anna: { ways: { way } } } } });
const notify = { tool: 'notify', params: { recipient: 'anna', message: 'x', urgency: 'medium' } } as const;

/** Every connector whose weight is measured; a new one gets a row here. */
export const CONNECTOR_ROWS: Readonly<Record<string, ConnectorRow>> = {
  'notify-ntfy': {
    server: 'http',
    answer: { id: 'x', event: 'message' },
    config: (port) => told({ ntfy: { url: `${here(port)}/anna` } }),
    load: messages,
    use: notify,
  },
  mqtt: {
    server: 'mosquitto',
    config: (port) => ({ mqtt: { url: `mqtt://127.0.0.1:${port}`, bridge: {} } }),
    load: messages,
  },
  email: {
    server: 'smtp',
    config: (port) => ({ email: { host: '127.0.0.1', port, security: 'none', from: 'hub@example.org' } }),
    load: messages,
    use: { tool: 'send_email', params: { to: ['anna@example.org'], subject: 'x', body: 'y' } },
  },
  models: {
    server: 'http',
    answer: { choices: [{ message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }], usage: { total_tokens: 2 } },
    config: (port) => ({
      models: { endpoints: { own: { url: `${here(port)}/v1` } }, models: { small: { endpoint: 'own', model: 'm', tasks: ['llm'] } } },
    }),
    load: async () => (await import('../../src/connectors/models/models-connector.ts')).openModels,
    use: { tool: 'llm_complete', params: { prompt: 'x' } },
  },
  location: {
    server: 'none',
    config: () => ({ location: { hub: { latitude: 52.5, longitude: 13.4 } } }),
    load: async () => (await import('../../src/connectors/location/location-tool.ts')).openLocation,
    use: { tool: 'get_location', params: { device_id: 'hub' } },
  },
  web: {
    server: 'http',
    answer: { html: '<p>x</p>' },
    config: () => ({ web: { allowed_hosts: ['127.0.0.1'] } }),
    load: async () => (await import('../../src/connectors/web/web-connector.ts')).openWeb,
    use: { tool: 'http_get', params: { url: 'http://127.0.0.1:{port}/' } },
  },
  files: {
    server: 'none',
    config: () => ({ files: { roots: { all: { path: process.cwd() } } } }),
    load: async () => (await import('../../src/connectors/files/file-tools.ts')).openFiles,
    use: { tool: 'list_files', params: { path: 'all' } },
  },
  storage: {
    server: 'none',
    config: () => ({}),
    load: async () => (await import('../../src/connectors/storage/storage-tools.ts')).openStorage,
    use: { tool: 'store_data', params: { key: 'x', value: 1 } },
  },
  redis: {
    server: 'redis-server',
    config: (port) => ({ redis: { url: `redis://127.0.0.1:${port}` } }),
    load: async () => (await import('../../src/connectors/redis/redis-mirror.ts')).openRedis,
  },
  nats: {
    server: 'nats-server',
    config: (port) => ({ nats: { servers: [`nats://127.0.0.1:${port}`] } }),
    load: async () => (await import('../../src/connectors/nats/nats-publisher.ts')).openNats,
  },
};
