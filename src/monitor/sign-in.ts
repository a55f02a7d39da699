import { html, nothing, type TemplateResult } from 'lit';
import { loginOfPaste } from './api/login.ts';
import type { Session } from './api/session.ts';
import { icon } from './parts/icon.ts';

const REASONS: Readonly<Record<string, string>> = {
  TOKEN_EXPIRED: 'Your token has expired. Sign in with a new one.',
  TOKEN_INVALID: 'The hub does not take this token: it was revoked, or is for another hub.',
};

/** What somebody sees who is not signed in. */
export function signInView(session: Session): TemplateResult {
  const reason = session.endedBy === undefined ? undefined : (REASONS[session.endedBy] ?? 'The hub did not take this token.');
  return html`
    <main class="sign-in" id="main">
      <form class="card" @submit=${(event: SubmitEvent) => void signIn(event, session)}>
        <span class="brand-mark large" aria-hidden="true"></span>
        <h1>Welcome home</h1>
        <p class="quiet">Run <code>atmo monitor</code> on the hub and open the link that it shows, or paste a token.</p>
        ${reason === undefined ? nothing : html`<p class="alert" role="alert">${icon('warning')}${reason}</p>`}
        <label class="field"><span class="label">Token or link</span>
          <input name="token" type="password" autocomplete="off" spellcheck="false" required placeholder="at1.…" /></label>
        <label class="check"><input type="checkbox" name="keep" /><span>Stay signed in on this browser</span></label>
        <button class="button primary wide" type="submit">Sign in</button>
      </form>
    </main>
  `;
}

async function signIn(event: SubmitEvent, session: Session): Promise<void> {
  event.preventDefault();
  const form = event.currentTarget;
  if (!(form instanceof HTMLFormElement)) return;
  const field = form.elements.namedItem('token');
  const data = new FormData(form);
  const login = loginOfPaste(String(data.get('token')));
  if (login) return session.signIn(login, { isKept: data.get('keep') === 'on' });
  if (!(field instanceof HTMLInputElement)) return;
  field.setCustomValidity('This is neither a token nor a link of atmo monitor.');
  field.reportValidity();
  field.oninput = () => field.setCustomValidity('');
}
