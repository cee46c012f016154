// SPDX-License-Identifier: MIT
import OriginServer

@testable import Refrain

/// A resource at `/a`, whatever the query of the URL, and two signed URLs of it.
enum SignedResource {
  static let bytes = SyntheticBytes(seed: 9)
  static let length: Int64 = 700_001
  static let old = "/a?id=1&Expires=1&Signature=old&Key-Pair-Id=K"
  static let new = "/a?id=1&Expires=2&Signature=new&Key-Pair-Id=K"
}

/// Runs `body` with a cache whose origin serves `SignedResource`.
///
/// - Parameters:
///   - lifetime: how long it is fresh, in seconds.
///   - configure: changes the resource.
///   - change: changes the cache's configuration.
func withSigned(
  lifetime: Int = 1000, serving configure: (inout OriginResource) -> Void = { _ in },
  with change: (inout MediaCache.Configuration) -> Void = { _ in },
  _ body: (TestCache) async throws -> Void
) async throws {
  try await withCache(change) { test async throws in
    var resource = OriginResource.synthetic(seed: 9, length: SignedResource.length)
    resource.headers = [Field("Cache-Control", "max-age=\(lifetime)")]
    configure(&resource)
    test.origin.serve(resource, at: "/a")
    try await body(test)
  }
}
