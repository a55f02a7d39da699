import { html, nothing, type TemplateResult } from 'lit';
import type { Monitor } from '../../app.ts';
import { icon } from '../../parts/icon.ts';
import { isAgentMade, isRegistered, type MatchView, surePercent } from './tool-match.ts';
import '../../parts/form/tool-form.ts';
import { titleOfTool } from '../../parts/form/tool-form.ts';

interface CardContext {
  readonly isOpen: boolean;
  readonly page: { readonly app: Monitor; toggle(id: string): void; askRemoval(tool: MatchView): void };
}

/** A tool: what it does, why it was found, and behind a button its form. */
export function toolCard(tool: MatchView, { isOpen, page }: CardContext): TemplateResult {
  const {
    id,
    description,
    available,
    model_name: modelName,
    missing_setting: missingSetting,
    unavailable_reason: obstacle,
    reasons = [],
  } = tool;
  const titleId = `tool-${id.replaceAll(/[^a-z0-9]/gi, '-')}`;
  return html`<article class="card tool" aria-labelledby=${titleId}>
    <header>
      <div class="grow"><h2 id=${titleId}><bdi>${titleOfTool(tool)}</bdi></h2><code>${String(modelName ?? id)}</code></div>
      ${tool.confidence === undefined ? nothing : sureView(tool)}
      ${tool.dangerous === true ? html`<span class="chip bad">${icon('shield')}asks people</span>` : nothing}
      ${isAgentMade(tool.metadata) ? html`<span class="chip cool">${icon('agent')}made by an agent</span>` : nothing}
      ${available ? nothing : html`<span class="chip">${missingSetting ? 'not configured' : 'not available now'}</span>`}
    </header>
    <p>${description}</p>
    ${missingSetting ? html`<p class="quiet small">To use it, ${String(missingSetting)}.</p>` : nothing}
    ${obstacle && !missingSetting ? html`<p class="quiet small">Not now: ${String(obstacle)}.</p>` : nothing}
    ${reasons.length === 0 ? nothing : html`<p class="row reasons"><span class="quiet small">Because of</span> ${reasons.map((reason) => html`<span class="chip">${reason}</span>`)}</p>`}
    <p class="row"><button type="button" class="button small" aria-expanded=${isOpen} @click=${() => page.toggle(id)}>${isOpen ? 'Close' : 'Try it'}</button>
      ${
        isRegistered(tool)
          ? html`<button type="button" class="button small danger plain" aria-label="Remove ${titleOfTool(tool)}" @click=${() => page.askRemoval(tool)}>${icon('trash')}Remove</button>`
          : nothing
      }</p>
    ${isOpen ? html`<atmo-tool-form class="trial" .app=${page.app} .tool=${tool}></atmo-tool-form>` : nothing}
  </article>`;
}

function sureView(tool: MatchView): TemplateResult {
  const percent = surePercent(tool);
  return html`<span class="score small quiet"><meter min="0" max="100" value=${percent} aria-label="How sure it is">${percent} %</meter> ${percent} %</span>`;
}
