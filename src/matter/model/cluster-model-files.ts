import { existsSync, readdirSync } from 'node:fs';
import type { ClusterModel } from '@matter/model';
import { AtmoError } from '../../core/errors.ts';
import type { TakenText } from '../../core/storage/owner-file.ts';
import { readOwnerFolder } from '../../core/storage/owner-folder.ts';
import { manufacturerModel } from './manufacturer-models.ts';

/** The owner's models of manufacturers' clusters. CONFIG_INVALID names a file with a mistake of which nothing was ever taken. */
export function readClusterModels(path: string, takenOf: (path: string) => TakenText) {
  const names = existsSync(path) ? readdirSync(path).filter((name) => name.endsWith('.json')) : [];
  return readOwnerFolder<ClusterModel>({ path, names, parse, subjectOf: ({ id }) => String(id), takenOf });
}

function parse(text: string, path: string): ClusterModel {
  try {
    return manufacturerModel(JSON.parse(text), path);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new AtmoError('CONFIG_INVALID', `${path} is no JSON: ${error.message}`);
  }
}
