import { html, nothing, type TemplateResult } from 'lit';
import { messageOf } from './api/hub-client.ts';
import { browserName } from './api/installation.ts';
import { loginOfPaste } from './api/session.ts';
import { acceptInvitation, invitationOfFragment } from './api/sign-in.ts';
import type { App } from './app.ts';
import { formValues } from './components/form-values.ts';
import { icon } from './components/icon.ts';
import { LightElement, type Stop } from './components/light-element.ts';
import { type TextKey, text, textWith } from './texts/text.ts';

const REASONS: Readonly<Record<string, TextKey>> = {
  TOKEN_EXPIRED: 'sign_in.expired',
  TOKEN_INVALID: 'sign_in.ended',
  HUB_UNREACHABLE: 'sign_in.kept_on_hub',
};

/** The view of a person who is not signed in, has opened an invitation, or is not admitted at this time. */
export class SignInView extends LightElement {
  static override properties = { app: { attribute: false }, problem: { state: true }, isBusy: { state: true } };
  declare app: App;
  declare problem: string | undefined;
  declare isBusy: boolean;

  constructor() {
    super();
    this.isBusy = false;
  }

  protected override connected(): readonly Stop[] {
    return [this.app.session.subscribe(() => this.requestUpdate())];
  }

  protected override render(): TemplateResult {
    const { invitation, pausedBy } = this.app.session;
    const content =
      invitation !== undefined ? this.#invited(invitation) : pausedBy !== undefined ? this.#paused(pausedBy) : this.#signedOut();
    return html`<main class="sign-in" id="main">${content}</main>`;
  }

  #invited(code: string): TemplateResult {
    const isSignedIn = this.app.session.login !== undefined;
    return html`<form class="card" @submit=${(event: SubmitEvent) => void this.#accept(event, code)}>
      ${head(text('sign_in.invited'))}
      <p class="quiet">${text(isSignedIn ? 'sign_in.invited_instead' : 'sign_in.invited_help')}</p>
      ${this.#alert(this.problem)}
      <label class="field"><span class="label">${text('sign_in.device')}</span>
        <input name="label" maxlength="64" required .value=${browserName(navigator)} /></label>
      <button class="button primary wide" type="submit" ?disabled=${this.isBusy}>${text('sign_in.accept')}</button>
      <button class="button wide" type="button" @click=${() => this.app.session.receiveInvitation(undefined)}>
        ${text(isSignedIn ? 'shell.link_refuse' : 'sign_in.without')}</button>
    </form>`;
  }

  #paused(reason: string): TemplateResult {
    return html`<section class="card">
      ${head(text('sign_in.paused'))} ${this.#alert(reason)}
      <button class="button primary wide" type="button" @click=${() => void this.app.resume()}>${text('sign_in.try_again')}</button>
      <button class="button wide" type="button" @click=${() => void this.app.signOut()}>${text('shell.sign_out')}</button>
    </section>`;
  }

  #signedOut(): TemplateResult {
    const { endedBy } = this.app.session;
    return html`<form class="card" @submit=${(event: SubmitEvent) => void this.#signIn(event)}>
      ${head(text('sign_in.title'))}
      ${isRequest(this.app) ? html`<p><strong>${text('sign_in.for_request')}</strong></p>` : nothing}
      <p class="quiet">${textWith('sign_in.help', { command: html`<code>atmo monitor</code>` })}</p>
      ${this.#alert(endedBy === undefined ? undefined : text(REASONS[endedBy] ?? 'sign_in.refused'))}
      <label class="field"><span class="label">${text('sign_in.token')}</span>
        <input name="token" type="password" autocomplete="off" spellcheck="false" required placeholder="at1.…" /></label>
      <label class="check"><input type="checkbox" name="keep" /><span>${text('sign_in.keep')}</span></label>
      <button class="button primary wide" type="submit">${text('sign_in.submit')}</button>
    </form>`;
  }

  #alert(problem: string | undefined): TemplateResult | typeof nothing {
    return problem === undefined ? nothing : html`<p class="alert" role="alert">${icon('warning')}${problem}</p>`;
  }

  async #accept(event: SubmitEvent, code: string): Promise<void> {
    const { label = '' } = formValues(event);
    this.isBusy = true;
    this.problem = undefined;
    try {
      await this.app.session.signIn(await acceptInvitation(this.app.post, code, label), { isKept: true });
    } catch (error) {
      this.problem = messageOf(error);
    } finally {
      this.isBusy = false;
    }
  }

  async #signIn(event: SubmitEvent): Promise<void> {
    const { token = '', keep } = formValues(event);
    // First, because the link of an invitation consists of characters that a token may have.
    const code = invitationOfFragment(token.slice(Math.max(0, token.indexOf('#invite='))).trim());
    if (code !== undefined) return this.app.session.receiveInvitation(code);
    const login = loginOfPaste(token);
    if (login) return this.app.session.signIn(login, { isKept: keep === 'on' });
    const form = event.currentTarget;
    const field = form instanceof HTMLFormElement ? form.elements.namedItem('token') : null;
    if (!(field instanceof HTMLInputElement)) return;
    field.setCustomValidity(text('sign_in.not_a_token'));
    field.reportValidity();
    field.oninput = () => field.setCustomValidity('');
  }
}

/** Returns whether the person came because an application asks for access. Whose it is and what it wants is shown after the sign-in. */
function isRequest({ router }: App): boolean {
  return router.place?.page.element === 'atmo-page-authorize';
}

function head(title: string): TemplateResult {
  return html`<span class="brand-mark large" aria-hidden="true"></span><h1>${title}</h1>`;
}

customElements.define('atmo-sign-in', SignInView);
