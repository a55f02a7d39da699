import { html, nothing, type TemplateResult } from 'lit';
import {
  CONSENT_DAYS,
  type ConsentChoice,
  type ConsentChoices,
  type ConsentLife,
  firstLife,
  livesWithin,
  untilOf,
} from '../api/authorization.ts';
import { inputValue } from '../components/form-values.ts';
import { icon } from '../components/icon.ts';
import { text } from '../texts/text.ts';
import { kindInWords } from './tokens.ts';

/** The input of `consentForm`. */
interface ConsentForm {
  readonly choices: ConsentChoices;
  readonly choice: ConsentChoice;
  readonly nowMs: number;
  onChange(change: Partial<ConsentChoice>): void;
}

const LIVES = Object.keys(CONSENT_DAYS) as readonly ConsentLife[];

/** Returns the form with which a person chooses what an application gets. What this person does not have is not there. */
export function consentForm(form: ConsentForm): TemplateResult {
  return html`<section class="card stack" aria-labelledby="consent-title">
    <h2 id="consent-title">${text('authorize.choose')}</h2>
    ${names(form, { field: 'areas', title: text('tokens.rooms'), all: text('authorize.all_rooms') }, roomNames(form.choices))}
    ${names(form, { field: 'kinds', title: text('tokens.kinds'), all: text('authorize.all_kinds') }, kindNames(form.choices))}
    <fieldset><legend>${text('tokens.may_do')}</legend>
      <div>${check(form, 'readings', text('authorize.readings'))} ${check(form, 'control', text('authorize.control'))}</div></fieldset>
    ${dangerous(form)} ${lifetime(form)}
  </section>`;
}

/** A room or kind to choose. `isInAll`: the choice `all` means it too. */
interface Name {
  readonly id: string;
  readonly words: string;
  readonly isInAll: boolean;
}

function roomNames({ areas }: ConsentChoices): readonly Name[] {
  return areas.map(({ slug, name }) => ({ id: slug, words: name, isInAll: true }));
}

function kindNames({ kinds }: ConsentChoices): readonly Name[] {
  return kinds.map(({ id, is_harmless: isInAll }) => ({ id, words: kindInWords(id), isInAll }));
}

interface NameGroup {
  readonly field: 'areas' | 'kinds';
  readonly title: string;
  readonly all: string;
}

/** Returns a check box for all rooms or kinds; where it is off, one for each of them. */
function names({ choice, onChange }: ConsentForm, { field, title, all }: NameGroup, options: readonly Name[]): TemplateResult {
  const chosen = choice[field];
  const each = options.filter(({ isInAll }) => isInAll).map(({ id }) => id);
  const toggleAll = (event: Event) => onChange({ [field]: inputValue(event) === 'on' ? 'all' : each });
  return html`<fieldset><legend>${title}</legend>
    <label class="check"><input type="checkbox" .checked=${chosen === 'all'} @change=${toggleAll} /><span>${all}</span></label>
    ${
      chosen === 'all'
        ? nothing
        : html`<div class="row choices">${options.map(
            ({ id, words }) => html`<label class="check"><input type="checkbox" .checked=${chosen.includes(id)}
              @change=${(event: Event) => onChange({ [field]: toggled(chosen, id, inputValue(event)) })} /><span><bdi>${words}</bdi></span></label>`,
          )}</div>
          ${options.some(({ isInAll }) => !isInAll) ? html`<p class="quiet small">${icon('warning')} ${text('authorize.further_kinds')}</p>` : nothing}`
    }
  </fieldset>`;
}

function toggled(chosen: readonly string[], id: string, state: string): readonly string[] {
  const others = chosen.filter((one) => one !== id);
  return state === 'on' ? [...others, id] : others;
}

type Switch = 'readings' | 'control' | 'locks' | 'valves' | 'administration';

function check({ choice, onChange }: ConsentForm, name: Switch, words: string): TemplateResult {
  const change = (event: Event) => onChange({ [name]: inputValue(event) === 'on' });
  return html`<label class="check"><input type="checkbox" .checked=${choice[name]} @change=${change} /><span>${words}</span></label>`;
}

/** Returns what can open the home, let water run or change the hub; nothing if this person may do none of it. */
function dangerous(form: ConsentForm): TemplateResult | typeof nothing {
  const { can_lock: canLock, can_valve: canValve, can_admin: canAdmin } = form.choices;
  if (!canLock && !canValve && !canAdmin) return nothing;
  return html`<fieldset><legend>${text('authorize.dangerous')}</legend>
    <p class="alert">${icon('warning')}<span>${text('authorize.dangerous_about')}</span></p>
    <div>${canLock ? check(form, 'locks', text('authorize.locks')) : nothing} ${canValve ? check(form, 'valves', text('authorize.valves')) : nothing}
      ${canAdmin ? check(form, 'administration', text('authorize.administration')) : nothing}</div></fieldset>`;
}

function lifetime({ choices, nowMs, onChange }: ConsentForm): TemplateResult {
  const change = (event: Event) => {
    const life = LIVES.find((name) => name === inputValue(event));
    if (life) onChange({ until: untilOf(life, choices, nowMs) });
  };
  const lives = livesWithin(choices, nowMs);
  const first = firstLife(choices, nowMs);
  return html`<label class="field"><span class="label">${text('tokens.lasts')}</span>
    <select @change=${change}>${lives.map((life) => html`<option value=${life} ?selected=${life === first}>${text(`tokens.life_${life}`)}</option>`)}</select></label>`;
}
