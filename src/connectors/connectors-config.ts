import { section } from '../core/config/config-section.ts';
import { ATMOSPHERE_SECTION, type AtmosphereConfig } from './atmosphere/atmosphere-config.ts';
import { CAMERAS_SECTION, type CamerasConfig } from './cameras/cameras-config.ts';
import { COLLECTIONS_SECTION, type CollectionsConfig } from './collections/collections-config.ts';
import { DATABASES_SECTION, type DatabasesConfig } from './databases/databases-config.ts';
import { FILES_SECTION, type FilesConfig } from './files/files-config.ts';
import { LOCATION_SECTION, type LocationConfig } from './location/location-config.ts';
import {
  EMAIL_SECTION,
  type EmailConfig,
  NOTIFY_SECTION,
  type NotifyConfig,
  SLACK_SECTION,
  type SlackConfig,
  SMS_SECTION,
  type SmsConfig,
} from './messages/messages-config.ts';
import { MODELS_SECTION, type ModelsConfig } from './models/models-config.ts';
import { MQTT_SECTION, type MqttConfig } from './mqtt/mqtt-config.ts';
import { NATS_SECTION, type NatsConfig } from './nats/nats-config.ts';
import { REDIS_SECTION, type RedisConfig } from './redis/redis-config.ts';
import { SANDBOX_SECTION, type SandboxConfig } from './sandbox/sandbox-config.ts';
import { STORAGE_SECTION, type StorageConfig } from './storage/storage-config.ts';
import { SEARCH_SECTION, type SearchConfig, WEB_SECTION, type WebConfig } from './web/web-config.ts';

/** JSON Schema of `connectors` in the configuration file. */
export const CONNECTORS_SECTION = section({
  notify: NOTIFY_SECTION,
  email: EMAIL_SECTION,
  slack: SLACK_SECTION,
  sms: SMS_SECTION,
  models: MODELS_SECTION,
  collections: COLLECTIONS_SECTION,
  cameras: CAMERAS_SECTION,
  location: LOCATION_SECTION,
  mqtt: MQTT_SECTION,
  nats: NATS_SECTION,
  atmosphere: ATMOSPHERE_SECTION,
  redis: REDIS_SECTION,
  search: SEARCH_SECTION,
  storage: STORAGE_SECTION,
  databases: DATABASES_SECTION,
  files: FILES_SECTION,
  web: WEB_SECTION,
  sandbox: SANDBOX_SECTION,
});

/** The services that the owner configured; each connector has its own part. */
export interface ConnectorsConfig {
  readonly notify?: NotifyConfig;
  readonly email?: EmailConfig;
  readonly slack?: SlackConfig;
  readonly sms?: SmsConfig;
  readonly models?: ModelsConfig;
  readonly collections?: CollectionsConfig;
  readonly cameras?: CamerasConfig;
  readonly location?: LocationConfig;
  readonly mqtt?: MqttConfig;
  readonly nats?: NatsConfig;
  readonly atmosphere?: AtmosphereConfig;
  readonly redis?: RedisConfig;
  readonly search?: SearchConfig;
  readonly storage: StorageConfig;
  readonly databases?: DatabasesConfig;
  readonly files?: FilesConfig;
  readonly web: WebConfig;
  readonly sandbox: SandboxConfig;
}
