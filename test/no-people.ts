import type { PeopleDirectory, SignInService } from '../src/core/auth/people.ts';
import { AtmoError } from '../src/core/errors.ts';

const refuse = async () => {
  throw new AtmoError('TOKEN_INVALID', 'Nobody was invited here');
};

/** A household without persons, which lets nobody in. */
export const NO_PEOPLE: PeopleDirectory & SignInService = {
  list: () => [],
  find: () => undefined,
  personOf: () => undefined,
  challenge: () => 'none',
  accept: refuse,
  renew: refuse,
};
