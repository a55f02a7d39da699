import { html, type TemplateResult } from 'lit';
import { capital } from '../../parts/words.ts';
import { fieldValueOf } from '../field-value.ts';
import type { ToolQuestion } from './tool-match.ts';

const ORIGINS = { agent: 'Agents', system: 'The hub, its devices and its owner' } as const;
/** As `metadata.category` of docs/tool.schema.json has them. */
const CATEGORIES = ['sensing', 'acting', 'communicating', 'querying', 'computing', 'managing'] as const;

interface ToolFilters {
  readonly question: ToolQuestion;
  readonly areas: readonly string[];
  onChange(change: Partial<ToolQuestion>): void;
}

/** Narrows a list of tools by who made them, what kind they are, and the room of their device. */
export function toolFilters({ question, areas, onChange }: ToolFilters): TemplateResult {
  const { origin, category, area } = question;
  const origins = Object.entries(ORIGINS);
  return html`<div class="filters">
    ${choice({ label: 'Made by', chosen: origin, none: 'Anybody', options: origins }, (value) => onChange({ origin: value }))}
    ${choice({ label: 'Kind', chosen: category, none: 'Every kind', options: CATEGORIES.map((name) => [name, capital(name)]) }, (value) => onChange({ category: value }))}
    ${choice({ label: 'Room', chosen: area, none: 'Every room', options: areas.map((name) => [name, name]) }, (value) => onChange({ area: value }))}
  </div>`;
}

interface Choice {
  readonly label: string;
  readonly chosen: string;
  readonly none: string;
  readonly options: readonly (readonly [value: string, title: string])[];
}

function choice({ label, chosen, none, options }: Choice, onChoice: (value: string) => void): TemplateResult {
  return html`<label class="field"><span class="label">${label}</span>
    <select @change=${(event: Event) => onChoice(fieldValueOf(event))}>
      <option value="" ?selected=${chosen === ''}>${none}</option>
      ${options.map(([value, title]) => html`<option value=${value} ?selected=${value === chosen}>${title}</option>`)}
    </select></label>`;
}
