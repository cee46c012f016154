// SPDX-License-Identifier: MIT
public import Foundation

/// What is fetched without a reader asking for it yet.
public enum FillPolicy: String, Sendable, Hashable, Codable {
  /// Nothing beyond the read-ahead window of a live reader.
  case onDemand
  /// While anyone has the resource open, its holes are filled to the end, behind the reader's needs.
  case wholeResource
}

/// How a `MediaCache` behaves. A value: changes after the cache was made have no effect.
public struct Configuration: Sendable {
  /// Most bytes of disk that the cache may take, in allocated blocks; nil for no limit.
  public var limit: Int64? = 10 << 30

  /// What readers fill that say nothing else.
  public var fill: FillPolicy = .onDemand

  /// How far ahead of a reader bytes are received at most. The window is four times `firstRequest` in
  /// the beginning, and grows to two thirds of this as a reader goes on in sequence.
  public var maximumReadAhead: Int64 = 8 << 20

  /// The size of the first request after a jump, in bytes: small, for most jumps are probes.
  public var firstRequest: Int64 = 64 << 10

  /// How long a reader waits for a running fetch to come to its offset before a fetch of its own is
  /// started there. Nil: for as long as the origin takes to answer, half a second at most.
  public var joinPatience: Duration?

  /// Stored bytes are never checked against the origin again: a URL names its bytes for good.
  public var trustStored = false

  /// No request is made at all. What is stored plays, whatever its age.
  public var offline = false

  /// Follow RFC 9111 as a shared cache: what is private to one person is not kept, nor is what a
  /// private cache has stored in the same directory used.
  public var isShared = false

  /// The key for a resource that brings none, from its URL without a user and password.
  public var cacheKey: @Sendable (URL) -> CacheKey = { CacheKey(url: $0) }

  /// Asked once when the origin answers 401, 403 or 410: returns the resource with a new URL or new
  /// headers, to be tried again under the same key, or nil to give up.
  public var authorize: (@Sendable (Resource, _ status: Int) async throws -> Resource?)?

  public var retry = RetryPolicy()

  /// Longest wait for the head of a response, connecting included.
  public var responseTimeout: Duration = .seconds(15)

  /// Longest silence in the middle of a response.
  public var silenceTimeout: Duration = .seconds(30)

  /// Which networks may be used for what, and whether a network is waited for.
  public var network = NetworkPolicy()

  /// How long what nobody reads any more may be silent.
  package var abandonedSilence: Duration = .seconds(2)

  /// What time it is.
  package var clock: @Sendable () -> Moment = { .now }

  /// How long a prefetch waits for another process that stores the resource and does not go on.
  package var writerSilence: Duration = .seconds(60)

  /// Performs the requests. Nil: the platform's own, `CurlTransport` on Linux and
  /// `URLSessionTransport` on Apple's platforms.
  public var transport: (any Transport)?

  public init() {}
}
