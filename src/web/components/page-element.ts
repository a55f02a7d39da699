import type { TemplateResult } from 'lit';
import type { Json } from '../../core/json.ts';
import { messageOf } from '../api/hub-client.ts';
import type { UndoableCalls } from '../api/undo.ts';
import type { App, CallRequest } from '../app.ts';
import type { RouteParams } from '../router.ts';
import { text } from '../texts/text.ts';
import { LightElement, type Stop } from './light-element.ts';
import { copyable } from './text-block.ts';

/** A message that the shell shows for some seconds. */
export interface Notice {
  readonly text: string;
  readonly tone: 'good' | 'bad' | 'plain';
  /** The calls that the person can undo from the message. */
  readonly undoes?: UndoableCalls;
}

/** Base class of the pages. A page has `app` and the `params` of its route. It renders again when the home changes. */
export abstract class PageElement extends LightElement {
  static override properties = { app: { attribute: false }, params: { attribute: false } };
  declare app: App;
  declare params: RouteParams;

  protected override connected(): readonly Stop[] {
    return [this.app.store.subscribe(() => this.requestUpdate())];
  }

  /** Calls a tool, and shows an error if it fails. Returns undefined if it fails, if it waits for approval, or if the person cancels. */
  protected async callTool(request: CallRequest | Promise<CallRequest | undefined>): Promise<Json | undefined> {
    try {
      const call = await request;
      return call && (await this.app.call(call));
    } catch (error) {
      this.notifyError(error);
      return undefined;
    }
  }

  /** Calls a tool that controls devices, as `callTool` does. Then offers to undo the call, if that is possible. */
  protected async act(request: CallRequest | Promise<CallRequest | undefined>): Promise<void> {
    try {
      const call = await request;
      const done = call && (await this.app.callTraced(call));
      if (done) void this.offerUndo({ traceId: done.traceId, label: call.label });
    } catch (error) {
      this.notifyError(error);
    }
  }

  /** Shows a notice from which the person can undo calls that have just ended. Shows none if they cannot be undone. */
  protected async offerUndo(calls: UndoableCalls, words = text('shell.done', { label: calls.label })): Promise<void> {
    if (await this.app.undo.isOffered(calls)) this.#send({ text: words, tone: 'good', undoes: calls });
  }

  /** Waits for a promise. Then shows the notice `success`, or the error if the promise rejects. */
  protected async attempt(work: Promise<unknown>, success: string): Promise<void> {
    await work.then(
      () => this.notify(success),
      (error: unknown) => this.notifyError(error),
    );
  }

  /** Returns a text with a copy button. */
  protected copyable(content: string, label: string): TemplateResult {
    return copyable(content, { label, onCopied: () => this.notify(text('forms.copied')) });
  }

  /** Shows a notice, which screen readers read aloud. */
  protected notify(words: string, tone: Notice['tone'] = 'good'): void {
    this.#send({ text: words, tone });
  }

  #send(detail: Notice): void {
    this.dispatchEvent(new CustomEvent<Notice>('atmo-notice', { detail, bubbles: true }));
  }

  /** Shows a thrown error as a notice. */
  protected notifyError(thrown: unknown): void {
    this.notify(messageOf(thrown), 'bad');
  }
}
