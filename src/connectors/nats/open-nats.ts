import { readSecret } from '../../core/settings/secret-source.ts';
import type { Connector, ConnectorGround } from '../connector.ts';
import type { ConnectorsConfig } from '../connector-config.ts';
import { openNatsLink } from './nats-link.ts';
import { NatsPublisher } from './nats-publisher.ts';

/** Events over NATS, where the owner configured a server. CONFIG_INVALID for a secret that is not there. */
export function openNats({ env, nodeId, ...ground }: ConnectorGround, { nats }: ConnectorsConfig): Connector {
  if (!nats) return { tools: [] };
  const { servers, user, password, token, ...what } = nats;
  const target = {
    servers,
    name: `atmosphere-edge ${nodeId}`,
    ...(user !== undefined && { user }),
    ...(password !== undefined && { pass: readSecret(password, env) }),
    ...(token !== undefined && { token: readSecret(token, env) }),
  };
  return {
    tools: [],
    service: new NatsPublisher({ events: ground.events, logger: ground.logger, open: openNatsLink }, { ...what, target }),
  };
}
