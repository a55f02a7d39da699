import { type Settings, section } from '../core/config/config-section.ts';
import { ATMOSPHERE_SECTION } from './atmosphere/atmosphere-config.ts';
import { CAMERAS_SECTION } from './cameras/cameras-config.ts';
import { COLLECTIONS_SECTION } from './collections/collections-config.ts';
import { DATABASES_SECTION } from './databases/databases-config.ts';
import { FILES_SECTION } from './files/files-config.ts';
import { LOCATION_SECTION } from './location/location-config.ts';
import { EMAIL_SECTION, NOTIFY_SECTION, SLACK_SECTION, SMS_SECTION } from './messages/messages-config.ts';
import { MODELS_SECTION } from './models/models-config.ts';
import { MQTT_SECTION } from './mqtt/mqtt-config.ts';
import { NATS_SECTION } from './nats/nats-config.ts';
import { PUSH_SECTION } from './push/push-config.ts';
import { REDIS_SECTION } from './redis/redis-config.ts';
import { SANDBOX_SECTION } from './sandbox/sandbox-config.ts';
import { STORAGE_SECTION } from './storage/storage-config.ts';
import { SEARCH_SECTION, WEB_SECTION } from './web/web-config.ts';

/** JSON Schema of `connectors` in the configuration file. */
export const CONNECTORS_SECTION = section({
  notify: NOTIFY_SECTION,
  push: PUSH_SECTION,
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
export type ConnectorsConfig = Settings<typeof CONNECTORS_SECTION>;
