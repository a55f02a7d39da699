import { describe, expect, test } from 'vitest';
import { ConnectionLimiter } from '../../../src/http/server/http-server.ts';

function makeBounds() {
  const bounds = new ConnectionLimiter({ connections: 4, perSource: 2, running: 2 });
  const cut: string[] = [];
  const open = (name: string, remoteAddress: string) => {
    const socket = { remoteAddress, destroy: () => void cut.push(name) };
    return { socket: socket as never as Parameters<ConnectionLimiter['admit']>[0], isIn: bounds.admit(socket as never) };
  };
  return { bounds, cut, open };
}

describe('the places for connections', () => {
  test('of one source go to the newest: the one that was silent for longest has to leave', () => {
    const { cut, open, bounds } = makeBounds();
    const first = open('first', '10.0.0.1').socket;
    open('second', '10.0.0.1');
    bounds.begin(first);
    bounds.end(first);
    expect(open('third', '10.0.0.1').isIn).toBe(true);
    expect(cut).toEqual(['second']);
    open('other', '10.0.0.2');
    expect(bounds.size).toBe(3);
  });

  test('are not taken from a request that runs', () => {
    const { cut, open, bounds } = makeBounds();
    for (const name of ['first', 'second']) bounds.begin(open(name, '10.0.0.1').socket);
    expect(open('third', '10.0.0.1').isIn).toBe(false);
    expect(cut).toEqual([]);
  });

  test('are bounded in all for everybody, by source only for other machines', () => {
    const { cut, open, bounds } = makeBounds();
    for (const name of ['a', 'b', 'c', 'd']) open(name, '127.0.0.1');
    expect(cut).toEqual([]);
    open('e', '127.0.0.1');
    expect([cut, bounds.size]).toEqual([['a'], 4]);
  });

  test('a connection runs so many requests at once and no more', () => {
    const { open, bounds } = makeBounds();
    const { socket } = open('a', '10.0.0.1');
    expect([bounds.begin(socket), bounds.begin(socket), bounds.begin(socket)]).toEqual([true, true, false]);
    bounds.end(socket);
    expect(bounds.begin(socket)).toBe(true);
    bounds.release(socket);
    expect(bounds.size).toBe(0);
  });

  test('an answer that nobody takes is cut at the second look, one that is taken slowly goes on', () => {
    const { bounds, cut } = makeBounds();
    const reader = (name: string) => ({ remoteAddress: '10.0.0.1', writableLength: 9, destroy: () => void cut.push(name) });
    const [stuck, slow] = [reader('stuck'), reader('slow')];
    for (const socket of [stuck, slow]) bounds.admit(socket as never);
    bounds.cutStalled();
    expect(cut).toEqual([]);
    slow.writableLength = 8;
    bounds.cutStalled();
    expect(cut).toEqual(['stuck']);
  });
});
