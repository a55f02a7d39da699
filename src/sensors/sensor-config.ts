import { section } from '../core/config-section.ts';

/** JSON Schema of `sensors` in the configuration file. */
export const SENSORS_SECTION = section({});

/** The board's own sensors and outputs. */
export type SensorsConfig = Readonly<Record<never, never>>;
