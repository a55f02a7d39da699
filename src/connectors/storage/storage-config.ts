import { type Settings, section } from '../../core/config/config-section.ts';

/** JSON Schema of `connectors.storage`: limits on the values that agents store on the hub. */
export const STORAGE_SECTION = section({
  max_keys: {
    type: 'integer',
    minimum: 1,
    maximum: 10_000,
    default: 500,
    description: 'Keys of one agent with all that come from it; those below shared/ are counted together',
  },
  max_bytes: { type: 'integer', minimum: 1_024, maximum: 4_194_304, default: 262_144, description: 'Their keys and values, as JSON' },
});

/** Limits on the values of one agent. */
export type StorageConfig = Settings<typeof STORAGE_SECTION>;
