import { SANDBOX_SECTION, type SandboxConfig } from '../../../src/connectors/sandbox/sandbox-config.ts';
import { camelKeys } from '../../../src/core/config/config-section.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { SchemaValidator } from '../../../src/tools/schema/schema-validator.ts';

/** The settings as the configuration file makes them, from its own words. */
export function sandboxSettings(file: JsonObject = {}): SandboxConfig {
  const whole = new SchemaValidator().parameters(SANDBOX_SECTION, file);
  return camelKeys(whole, SANDBOX_SECTION) as SandboxConfig;
}
