import { html, nothing, type TemplateResult } from 'lit';
import type { NamedDevice } from '../../../core/devices/action-words.ts';
import { grantInWords } from './grant-draft.ts';
import type { TokenView } from './token-view.ts';

/** What can be done with a token of the list. */
export interface TokenActs {
  preview(permissions: readonly string[]): void;
  narrow(token: TokenView): void;
  revoke(token: TokenView): void;
}

/** The tokens that hold, and behind a line those that have ended; permissions name the devices of the home. */
export function tokenRows(tokens: readonly TokenView[], acts: TokenActs, devices: readonly NamedDevice[]): TemplateResult {
  const valid = tokens.filter(({ state }) => state === 'valid');
  const ended = tokens.filter(({ state }) => state !== 'valid');
  return html`
    ${valid.length === 0 ? html`<p class="quiet">No agent has a token.</p>` : html`<ul class="tokens">${valid.map((token) => tokenRow(token, devices, acts))}</ul>`}
    ${ended.length === 0 ? nothing : html`<details><summary>${ended.length} ended</summary><ul class="tokens">${ended.map((token) => tokenRow(token, devices))}</ul></details>`}
  `;
}

/** `owner:owner` is the owner; of an agent the id alone is enough. */
function makerOf(principal: string): string {
  const [kind = '', ...id] = principal.split(':');
  return kind === 'owner' ? 'the owner' : id.join(':') || kind;
}

function tokenRow(token: TokenView, devices: readonly NamedDevice[], acts?: TokenActs): TemplateResult {
  const { agent_id: agent, permissions, state, expires_at: expiresAt, issued_by: by } = token;
  return html`<li>
    <p><strong><bdi>${agent}</bdi></strong> <span class="chip ${state === 'valid' ? 'good' : ''}">${state}</span>
      <span class="quiet small">until <time datetime=${expiresAt}>${new Date(expiresAt).toLocaleString()}</time>, made by <bdi>${makerOf(by)}</bdi></span></p>
    <p class="quiet">${permissions.map((grant) => grantInWords(grant, devices)).join('; ')}</p>
    ${
      acts === undefined
        ? nothing
        : html`<p class="row">
            <button type="button" class="button small" aria-label="What it sees: ${agent}" @click=${() => acts.preview(permissions)}>What it sees</button>
            <button type="button" class="button small" aria-label="Narrow ${agent}" @click=${() => acts.narrow(token)}>Narrow</button>
            <button type="button" class="button small danger plain" aria-label="Revoke ${agent}" @click=${() => acts.revoke(token)}>Revoke</button>
          </p>`
    }
  </li>`;
}
