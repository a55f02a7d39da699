import { readSecret } from '../../core/settings/secret-source.ts';
import type { Connector, ConnectorGround } from '../connector.ts';
import type { ConnectorsConfig } from '../connector-config.ts';
import { openRedisLink } from './redis-link.ts';
import { RedisMirror } from './redis-mirror.ts';
import { RegistryKeys } from './registry-keys.ts';

/** The mirror of tools and calls in Redis, where the owner configured one. CONFIG_INVALID for a password that is not there. */
export function openRedis({ env, nodeId, ...ground }: ConnectorGround, { redis }: ConnectorsConfig): Connector {
  if (!redis) return { tools: [] };
  const secret = redis.password === undefined ? {} : { secret: readSecret(redis.password, env) };
  const keys = new RegistryKeys(redis.prefix, nodeId);
  return {
    tools: [],
    service: new RedisMirror(
      { clock: ground.clock, logger: ground.logger, events: ground.events, registry: ground.registry, keys, open: openRedisLink },
      { ...redis, ...secret },
    ),
  };
}
