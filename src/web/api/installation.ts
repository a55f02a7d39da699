import { Observable } from './observable.ts';

/** Chromium's event before it offers to install a page. TypeScript's DOM does not have it. */
interface InstallPromptEvent extends Event {
  prompt(): Promise<{ readonly outcome: 'accepted' | 'dismissed' }>;
}

/** Knows whether the page runs as an app, and can offer to install it. */
export class Installation extends Observable {
  #prompt: InstallPromptEvent | undefined;
  #isInstalled = matchMedia('(display-mode: standalone)').matches;

  start(): void {
    addEventListener('beforeinstallprompt', (event) => {
      // Chromium would show a bar of its own; the page offers it where a person looks for it.
      event.preventDefault();
      this.#prompt = event as InstallPromptEvent;
      this.changed();
    });
    addEventListener('appinstalled', () => {
      this.#prompt = undefined;
      this.#isInstalled = true;
      this.changed();
    });
  }

  /** True if the page was opened from a home screen or as a program. */
  get isInstalled(): boolean {
    return this.#isInstalled;
  }

  /** True if the browser can install the page now. */
  get canInstall(): boolean {
    return this.#prompt !== undefined;
  }

  /** True on iPhone and iPad, where a page is installed through the share menu and has push only then. */
  get isByShareMenu(): boolean {
    const isTablet = navigator.platform === 'MacIntel' && navigator.maxTouchPoints > 1;
    return /iPhone|iPad|iPod/.test(navigator.userAgent) || isTablet;
  }

  /** Lets the browser ask the person. */
  async install(): Promise<void> {
    const prompt = this.#prompt;
    this.#prompt = undefined;
    this.changed();
    await prompt?.prompt();
  }
}

/** Returns what this browser is called in the lists of sign-ins and of devices with notices, such as `Firefox on Android`. */
export function browserName({ userAgent }: Pick<Navigator, 'userAgent'>): string {
  const nameIn = (names: readonly (readonly [RegExp, string])[]) => names.find(([pattern]) => pattern.test(userAgent))?.[1];
  const browser =
    nameIn([
      [/Firefox|FxiOS/, 'Firefox'],
      [/Edg/, 'Edge'],
      [/Chrome|CriOS/, 'Chrome'],
      [/Safari/, 'Safari'],
    ]) ?? 'Browser';
  const system = nameIn([
    [/Android/, 'Android'],
    [/iPhone/, 'iPhone'],
    [/iPad/, 'iPad'],
    [/Mac/, 'Mac'],
    [/Windows/, 'Windows'],
    [/Linux/, 'Linux'],
  ]);
  return system === undefined ? browser : `${browser} on ${system}`;
}
