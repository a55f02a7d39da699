import type { JsonObject } from '../../../core/json.ts';

/** A token without its text, as `GET /api/v1/tokens` lists it. */
export interface TokenView {
  readonly token_id: string;
  readonly agent_id: string;
  readonly state: 'valid' | 'expired' | 'revoked';
  readonly permissions: readonly string[];
  readonly issued_at: string;
  readonly expires_at: string;
  readonly issued_by: string;
  readonly role?: string;
  readonly parent?: string;
}

/** What `POST /api/v1/tokens` answers, this once. */
export interface MintedToken {
  readonly token: string;
  readonly token_id: string;
  readonly agent_id: string;
  readonly permissions: readonly string[];
  readonly expires_at: string;
}

/** An agent, as `list_agents` tells it. */
export interface AgentView {
  readonly agent_id: string;
  readonly agent_type: string;
  readonly status: string;
  readonly runs: number;
  readonly expires_at: string;
  readonly last_run_at?: string;
  readonly last_error?: JsonObject;
}

/** Lives that a person chooses from, in seconds. */
export const LIFETIMES: ReadonlyMap<string, number> = new Map([
  ['an hour', 3_600],
  ['a day', 86_400],
  ['a week', 604_800],
  ['30 days', 2_592_000],
  ['a year', 31_536_000],
]);
