import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import { inputValue } from '../components/form-values.ts';
import { secondsWords } from '../components/formatting.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { lazyJson } from '../components/text-block.ts';
import { text } from '../texts/text.ts';
import { EVENT_KINDS, type EventFilter, EventLog, type LoggedEvent } from './event-log.ts';

/** Maximum number of events that the page shows at once. The filter searches all events of the log, including those that are not shown. */
const MAX_ROWS = 200;

/** Page that shows events of the home and of the hub as they happen. */
export class EventsPage extends PageElement {
  readonly #log = new EventLog();
  #filter: EventFilter = { type: '', text: '' };

  protected override connected(): readonly Stop[] {
    const { store } = this.app;
    this.#log.clear();
    for (const event of store.state.events.toReversed()) this.#log.add(event);
    const stop = store.onEvent((event) => {
      this.#log.add(event);
      this.requestUpdate();
    });
    return [...super.connected(), stop];
  }

  protected override render(): TemplateResult {
    const events = this.#log.matching(this.#filter);
    return html`
      <header class="page-head"><h1>${text('events.title')}</h1><p class="quiet">${text('events.about')}</p></header>
      ${this.#controls()}
      ${events.length === 0 ? html`<p class="quiet center">${this.#emptyText()}</p>` : nothing}
      <ol class="log" aria-label=${text('events.title')}>${repeat(events.slice(0, MAX_ROWS), ({ id }) => id, eventRow)}</ol>
      ${events.length > MAX_ROWS ? html`<p class="quiet">${text('events.older', { count: events.length - MAX_ROWS })}</p>` : nothing}
    `;
  }

  #controls(): TemplateResult {
    return html`
      <form class="filters" role="search" @submit=${(event: Event) => event.preventDefault()}>
        <label class="field"><span class="label">${text('events.kind')}</span>
          <select name="type" @change=${(event: Event) => this.#narrow({ type: inputValue(event) })}>
            <option value="">${text('events.everything')}</option>
            ${[...EVENT_KINDS].map(([kind, title]) => html`<option value=${kind}>${text(title)}</option>`)}
          </select></label>
        <label class="field"><span class="label">${text('events.contains')}</span>
          <input type="search" name="text" autocomplete="off" @input=${(event: Event) => this.#narrow({ text: inputValue(event) })} /></label>
        <button type="button" class="button" aria-pressed=${this.#log.isPaused} @click=${() => this.#toggle()}>
          ${this.#pauseText()}
        </button>
        <button type="button" class="button" @click=${() => this.#clear()}>${text('events.clear')}</button>
      </form>
    `;
  }

  #emptyText(): string {
    const isFiltered = this.#filter.type !== '' || this.#filter.text !== '';
    return isFiltered ? text('events.none_fits') : text('events.none');
  }

  #pauseText(): string {
    if (!this.#log.isPaused) return text('events.pause');
    const count = this.#log.waitingCount;
    return count > 0 ? text('events.resume_new', { count }) : text('events.resume');
  }

  #narrow(change: Partial<EventFilter>): void {
    this.#filter = { ...this.#filter, ...change };
    this.requestUpdate();
  }

  #toggle(): void {
    if (this.#log.isPaused) this.#log.resume();
    else this.#log.pause();
    this.requestUpdate();
  }

  #clear(): void {
    this.#log.clear();
    this.requestUpdate();
  }
}

customElements.define('atmo-page-events', EventsPage);

function eventRow({ time, type, subject, data }: LoggedEvent): TemplateResult {
  return html`<li>
    <details>
      <summary><time datetime=${time}>${secondsWords(time)}</time> <code>${type}</code> <span class="subject"><bdi>${subject}</bdi></span></summary>
      ${lazyJson(data)}
    </details>
  </li>`;
}
