import { section } from '../core/config-section.ts';

/** JSON Schema of `connectors` in the configuration file. */
export const CONNECTORS_SECTION = section({});

/** The services that the owner configured; each connector has its own part. */
export type ConnectorsConfig = Readonly<Record<never, never>>;
