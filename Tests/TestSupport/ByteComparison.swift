// SPDX-License-Identifier: MIT
public import Foundation

/// Whether two buffers contain the same bytes. By memcmp(3): `==` of long arrays takes most of the
/// time of a debug build.
public func areEqual(_ a: some ContiguousBytes, _ b: some ContiguousBytes) -> Bool {
  a.withUnsafeBytes { a in
    b.withUnsafeBytes { b in a.count == b.count && areEqual(a, b, a.count) }
  }
}

/// Whether the first bytes of `whole` are all bytes of `start`.
public func bytes(_ whole: some ContiguousBytes, startWith start: some ContiguousBytes) -> Bool {
  whole.withUnsafeBytes { whole in
    start.withUnsafeBytes { start in
      start.count <= whole.count && areEqual(whole, start, start.count)
    }
  }
}

private func areEqual(
  _ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer, _ count: Int
) -> Bool {
  guard let a = a.baseAddress, let b = b.baseAddress else { return count == 0 }
  return memcmp(a, b, count) == 0
}
