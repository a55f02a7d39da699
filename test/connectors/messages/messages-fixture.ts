import type { CallAnswer } from '../../../src/calls/request-and-answer.ts';
import type { ConnectorContext } from '../../../src/connectors/connector.ts';
import { CONNECTORS_SECTION, type ConnectorsConfig } from '../../../src/connectors/connectors-config.ts';
import { openMessages } from '../../../src/connectors/messages/messages-connector.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { parseCheckedYaml } from '../../../src/core/config/checked-yaml.ts';
import { camelKeys } from '../../../src/core/config/config-section.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { makePipeline, owner } from '../../calls/pipeline-fixture.ts';
import { connectorContext } from '../connector-context.ts';

/** The message tools of a configuration, on the machine's own clock. */
export function messagesFixture(config: object, extra: Partial<ConnectorContext> & { readonly env?: NodeJS.ProcessEnv } = {}) {
  const setup = makePipeline({ clock: systemClock, capabilities: () => [...capabilities] });
  const capabilities = new Set<string>();
  const { registry, events, store, pipeline } = setup;
  const ground = connectorContext({ events, store, registry, ...extra });
  const connector = openMessages(ground, messagesConfig(config));
  for (const { type } of connector.capabilities ?? []) capabilities.add(type);
  for (const tool of connector.tools) registry.register(tool);
  const call = (tool: string, params: object, timeoutMs?: number) =>
    pipeline.call({ principal: owner, tool, params, ...(timeoutMs !== undefined && { timeoutMs }) });
  return { ...setup, connector, capabilities, call };
}

/** The part `connectors` of a configuration file, as the hub reads it. */
export function messagesConfig(config: object): ConnectorsConfig {
  return camelKeys(parseCheckedYaml(JSON.stringify(config), 'config.yaml', CONNECTORS_SECTION), CONNECTORS_SECTION) as ConnectorsConfig;
}

/** The result of a call that has to have worked. */
export function resultOf(answer: CallAnswer): JsonObject {
  if (answer.status === 'success') return answer.result as JsonObject;
  throw new Error(`the call failed: ${JSON.stringify(answer.error)}`);
}
