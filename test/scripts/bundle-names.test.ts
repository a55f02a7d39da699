import { describe, expect, test } from 'vitest';
import { withoutNeedlessNames } from '../../scripts/bundle-names.ts';

/** As esbuild defines it, before what uses it. */
const NAME = 'var __name=(target,value)=>Object.defineProperty(target,"name",{value,configurable:true});';

/** Runs the code as it is and without its needless names. Returns how many names are left, and what it evaluates to, which must be the same. */
function stripped(code: string): { readonly left: number; readonly value: unknown } {
  const after = withoutNeedlessNames('bundle.mjs', code);
  const run = (text: string): unknown => new Function(`${NAME}${text}`)();
  const value = run(after);
  expect(value).toEqual(run(code));
  return { left: after.split('__name(').length - 1, value };
}

describe('a function that has its name anyway', () => {
  test.each([
    ['is declared', 'function f(){}__name(f,"f");return f.name', 'f'],
    ['is declared, among others', 'function f(){}function g(){}return __name(f,"f"),__name(g,"g"),f.name+g.name', 'fg'],
    ['is a variable', 'let f=__name(()=>1,"f");return f.name+f()', 'f1'],
    ['is in another one', 'let f=__name(()=>{let g=__name(function(){},"g");return g.name},"f");return f.name+f()', 'fg'],
    ['is assigned', 'let f;f=__name(async()=>{},"f");return f.name', 'f'],
    ['is a default', 'let{f=__name(()=>{},"f")}={};return f.name', 'f'],
    ['is a property', 'return{f:__name(()=>{},"f"),"a-b":__name(()=>{},"a-b")}.f.name', 'f'],
    ['is a field', 'class C{f=__name(()=>{},"f")}return new C().f.name', 'f'],
    ['is a class', 'class C{static{__name(this,"C")}static n=this.name}return C.n', 'C'],
    ['is the class of a variable', 'var C=class{static{__name(this,"C")}static n=this.name};return C.n', 'C'],
  ])('is not named again: %s', (_how, code, value) => {
    expect(stripped(code)).toEqual({ left: 0, value });
  });
});

describe('a function that has another name in the bundle', () => {
  test.each([
    ['is declared', 'function f2(){}__name(f2,"f");return f2.name', 'f'],
    ['is a variable', 'let f2=__name(()=>1,"f");return f2.name', 'f'],
    ['has a name of its own', 'let f=__name(function g(){},"f");return f.name', 'f'],
    ['is a class that names itself', 'var C=class _C{static{__name(this,"C")}};return C.name', 'C'],
    ['is a class within another one', 'class C{static D=class D2{static{__name(this,"D")}}}return C.D.name', 'D'],
    ['has a prototype for a key', 'return Object.getPrototypeOf({__proto__:__name(()=>{},"__proto__")}).name', '__proto__'],
    ['has a computed key', 'let f="g";return{[f]:__name(()=>{},"f")}.g.name', 'f'],
    ['is an argument', 'return(f=>f.name)(__name(()=>{},"f"))', 'f'],
    ['is in brackets', 'let f=__name((0,()=>{}),"f");return f.name', 'f'],
    ['is part of an expression', 'let f=__name(()=>{},"f")||1;return f.name', 'f'],
  ])('keeps the call that names it: %s', (_how, code, value) => {
    expect(stripped(code)).toEqual({ left: 1, value });
  });
});

test('texts that look like such a call stay', () => {
  const code = 'return"__name(f,\\"f\\")"+`__name(f,"f")`+/__name\\(f/.source';
  expect(withoutNeedlessNames('bundle.mjs', code)).toBe(code);
});
