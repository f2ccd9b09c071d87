import { describe, expect, it } from '@jest/globals';
import { openNote, parseVerifierKey } from './note.js';
import { checkConsistency, checkInclusion, proveConsistency, proveInclusion } from './proofs.js';
import { appended, EMPTY_ROOT, leafHash, rootOf, type Hash, type ReadHashes } from './tree.js';

/** The eight leaves and roots with which the implementations of Certificate Transparency are tested. */
const LEAVES = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'];
const ROOTS = [
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];

async function known(): Promise<ReadHashes> {
  const hashes = new Map<string, Hash>();
  for (const { node, hash } of await appended(
    0,
    LEAVES.map((hex) => leafHash(Buffer.from(hex, 'hex'))),
    () => Promise.resolve([]),
  ))
    hashes.set(`${node.level}/${node.index}`, hash);
  return (nodes) => Promise.resolve(nodes.map(({ level, index }) => hashes.get(`${level}/${index}`) as Hash));
}

describe('the published vectors of RFC 6962', () => {
  it('give the roots of one to eight leaves, and of none', async () => {
    const read = await known();
    const roots = await Promise.all(ROOTS.map((_, i) => rootOf(i + 1, read)));
    expect(roots.map((root) => root.toString('hex'))).toEqual(ROOTS);
    expect(EMPTY_ROOT.toString('hex')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  });

  it('have the paths of the RFC: the sixth of eight leaves, and six of eight', async () => {
    const read = await known();
    const path = await proveInclusion(5, 8, read);
    expect(path.map((hash) => hash.toString('hex'))).toEqual([
      'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
      'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    ]);
    const root = Buffer.from(ROOTS[7] as string, 'hex');
    expect(
      checkInclusion({ leaf: leafHash(Buffer.from(LEAVES[5] as string, 'hex')), index: 5, size: 8, root, path }),
    ).toBe(true);
    const consistency = await proveConsistency(6, 8, read);
    expect(consistency.map((hash) => hash.toString('hex'))).toEqual([
      '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
      'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    ]);
    expect(
      checkConsistency({
        from: 6,
        fromRoot: Buffer.from(ROOTS[5] as string, 'hex'),
        to: 8,
        toRoot: root,
        path: consistency,
      }),
    ).toBe(true);
  });
});

describe('a note that another tool signed', () => {
  const KEY = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW';
  const TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
  const NOTE =
    `${TEXT}\n\u2014 PeterNeumann ` +
    'x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n';

  it('opens with its key', () => expect(openNote(NOTE, parseVerifierKey(KEY))).toBe(TEXT));
});
