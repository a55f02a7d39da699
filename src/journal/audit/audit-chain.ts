import type { JsonObject } from '../../core/json.ts';
import type { AuditRow } from '../../core/storage/audit-log.ts';
import { isoTime } from '../../core/time/iso-time.ts';
import { sha256Hex } from '../../wire/hashes.ts';

/** What a row says, before it has a place in the chain. */
export interface AuditFields {
  readonly kind: AuditRow['kind'];
  /** Whole milliseconds since 1970. */
  readonly atMs: number;
  readonly agent?: string;
  /** Id of the token, then the ids of its chain, root first. */
  readonly tokens?: readonly string[];
  readonly tool?: string;
  readonly request?: string;
  readonly trace?: string;
  /** RFC 8785 form of a JSON object. */
  readonly content: string;
}

/** A place in the chain. */
export interface ChainLink {
  readonly seq: number;
  /** SHA-256, 64 hex digits. */
  readonly hash: string;
}

/** What the first row of a hub's chain follows. */
export function genesis(hub: string): ChainLink {
  return { seq: 0, hash: sha256Hex(`atmosphere-edge audit v1 ${hub}`) };
}

/** The link of the row that comes next: SHA-256 over the hash before (hex) followed by the row as `rowText` writes it. */
export function nextLink(previous: ChainLink, hub: string, fields: AuditFields): ChainLink {
  const seq = previous.seq + 1;
  return { seq, hash: sha256Hex(previous.hash + rowText(hub, seq, fields)) };
}

/** The row as readers get it. */
export function rowOf(hub: string, { seq, hash }: ChainLink, fields: AuditFields): AuditRow {
  const { kind, atMs, agent, tokens, tool, request, trace, content } = fields;
  const [token, ...chain] = tokens ?? [];
  return {
    seq,
    at: isoTime(atMs),
    kind,
    hash,
    hub,
    ...(agent !== undefined && { agent }),
    ...(token !== undefined && { token, chain }),
    ...(tool !== undefined && { tool }),
    ...(request !== undefined && { request }),
    ...(trace !== undefined && { trace }),
    content: JSON.parse(content) as JsonObject,
  };
}

/**
 * The RFC 8785 form of the row as readers get it, without its hash: whoever has an export can recompute the chain. It is put
 * together by hand, with the stored content as it is.
 */
function rowText(hub: string, seq: number, { kind, atMs, agent, tokens, tool, request, trace, content }: AuditFields): string {
  const [token, ...chain] = tokens ?? [];
  return (
    `{${member('agent', agent)}"at":"${isoTime(atMs)}",${token === undefined ? '' : `"chain":${JSON.stringify(chain)},`}` +
    `"content":${content},${member('hub', hub)}"kind":"${kind}",${member('request', request)}"seq":${seq}` +
    `${last('token', token)}${last('tool', tool)}${last('trace', trace)}}`
  );
}

function member(name: string, value: string | undefined): string {
  return value === undefined ? '' : `"${name}":${JSON.stringify(value)},`;
}

function last(name: string, value: string | undefined): string {
  return value === undefined ? '' : `,"${name}":${JSON.stringify(value)}`;
}
