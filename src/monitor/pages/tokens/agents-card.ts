import { html, nothing, type TemplateResult } from 'lit';
import type { AgentView } from './token-view.ts';

const TONES: Readonly<Record<string, string>> = { active: 'good', failing: 'bad' };

/** The agents that the hub runs or knows, each with a way to end it. */
export function agentsCard(agents: readonly AgentView[], onKill: (agent: AgentView) => void): TemplateResult {
  return html`<section class="card" aria-labelledby="agents-title">
    <h2 id="agents-title">Agents</h2>
    ${agents.length === 0 ? html`<p class="quiet">No agent runs at this hub.</p>` : html`<ul class="tokens">${agents.map((agent) => agentRow(agent, onKill))}</ul>`}
  </section>`;
}

function agentRow(agent: AgentView, onKill: (agent: AgentView) => void): TemplateResult {
  const { agent_id: id, agent_type: type, status, runs, last_run_at: lastRun, last_error: error } = agent;
  const isOver = status === 'killed' || status === 'expired';
  return html`<li class="row">
    <span class="grow"><strong><bdi>${id}</bdi></strong> <span class="chip ${TONES[status] ?? ''}">${status}</span>
      <span class="quiet small">${type}, ${runs} runs${lastRun === undefined ? nothing : html`, last ${new Date(lastRun).toLocaleString()}`}</span>
      ${error === undefined ? nothing : html`<br /><span class="quiet small"><bdi>${String(error.message ?? '')}</bdi></span>`}</span>
    ${isOver ? nothing : html`<button type="button" class="button small danger plain" aria-label="End ${id}" @click=${() => onKill(agent)}>End</button>`}
  </li>`;
}
