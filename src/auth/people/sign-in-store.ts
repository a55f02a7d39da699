import type { SignIn } from '../../core/auth/people.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json } from '../../core/json.ts';

const SPACE = 'people.sign-ins';
const MAX_SIGN_INS = 256;
const MAX_OF_ONE = 16;
/** Time for which an ended sign-in is kept. Until its invitation has expired, the record shows that the invitation was used. */
const KEPT_AFTER_END_MS = 30 * 86_400_000;

/** A stored sign-in. */
export interface StoredSignIn extends SignIn {
  readonly endedAtMs?: number;
}

/** Stores the sign-ins of persons. A sign-in lasts until somebody ends it. */
export class SignInStore {
  readonly #store: HubContext['store'];

  constructor({ store }: Pick<HubContext, 'store'>) {
    this.#store = store;
  }

  get(id: string): StoredSignIn | undefined {
    return readSignIn(id, this.#store.get(SPACE, id));
  }

  /** Returns all sign-ins, the newest first, also those that have ended. */
  all(): readonly StoredSignIn[] {
    const known = this.#store.entries(SPACE).flatMap(({ key, value }) => readSignIn(key, value) ?? []);
    return known.sort((a, b) => b.createdAtMs - a.createdAtMs);
  }

  /** Returns the sign-ins that have not ended, the newest first. */
  live(): readonly StoredSignIn[] {
    return this.all().filter(({ endedAtMs }) => endedAtMs === undefined);
  }

  save({ id, person, label, key, createdAtMs, seenAtMs, endedAtMs }: StoredSignIn): void {
    const record = { person, label, key, createdAtMs, seenAtMs };
    if (endedAtMs === undefined) this.#store.set(SPACE, id, record);
    else this.#store.set(SPACE, id, { ...record, endedAtMs }, { ttlMs: KEPT_AFTER_END_MS });
  }

  /** Throws CONFLICT if the person or the hub has too many sign-ins. */
  requireRoom(person: string): void {
    const live = this.live();
    if (live.length < MAX_SIGN_INS && live.filter((one) => one.person === person).length < MAX_OF_ONE) return;
    throw new AtmoError(
      'CONFLICT',
      `A person may be signed in on ${MAX_OF_ONE} devices, and ${MAX_SIGN_INS} may be in all; end one of them first`,
    );
  }
}

function readSignIn(id: string, value: Json | undefined): StoredSignIn | undefined {
  if (!isJsonObject(value)) return undefined;
  const { person, label, key, createdAtMs, seenAtMs, endedAtMs } = value;
  if (typeof person !== 'string' || typeof label !== 'string' || typeof key !== 'string') return undefined;
  if (typeof createdAtMs !== 'number' || typeof seenAtMs !== 'number') return undefined;
  return { id, person, label, key, createdAtMs, seenAtMs, ...(typeof endedAtMs === 'number' && { endedAtMs }) };
}
