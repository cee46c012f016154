// SPDX-License-Identifier: MIT
import Foundation

/// Other forms of a response's body.
extension OriginExchange.Response {
  /// Returns the response with a body that has arrived.
  func withBody(_ body: Data) -> Self {
    var response = self
    response.hasMore = nil
    response.body = AsyncThrowingStream<Data, any Error> { continuation in
      if !body.isEmpty { continuation.yield(body) }
      continuation.finish()
    }
    return response
  }

  /// Returns the body without the metadata between its audio.
  ///
  /// - Parameter note: receives each block, before the audio that it applies to.
  func audio(
    _ note: @Sendable @escaping (ICYMetadata) -> Void
  ) -> any AsyncSequence<Data, any Error> & Sendable {
    guard isLive || interval != nil else { return body }
    // A station's stream has no end; only a response with a length ends properly.
    let hasEnd = !isLive || hasInterleavedLength || headers.bodyLength != nil
    return SteppedBody(body) { [interval] in
      var demultiplexer = interval.map { ICYDemultiplexer(interval: $0) }
      return { chunk in
        guard let chunk else {
          guard hasEnd, demultiplexer?.isBetweenBlocks != false else {
            throw MediaCacheError.endedEarly
          }
          return nil
        }
        guard let (audio, metadata) = demultiplexer?.take(chunk) else { return chunk }
        for block in metadata { note(block) }
        return audio
      }
    }
  }
}

extension MediaCacheError {
  static let endedEarly = MediaCacheError(
    .unreachable, "The origin ended its response before sending all of it.", remedy: "Try again.")
}

/// A body whose beginning is read by its request, and the rest by whoever passes the response on. One
/// call at a time.
actor BodyReading {
  private var iterator: any AsyncIteratorProtocol<Data, any Error>
  private let requests: EntryRequests

  init(_ body: any AsyncSequence<Data, any Error> & Sendable, by requests: EntryRequests) {
    (iterator, self.requests) = (body.makeAsyncIterator(), requests)
  }

  func next() async throws -> Data? {
    var iterator = iterator
    defer { self.iterator = iterator }
    guard let bytes = try await iterator.next(isolation: self) else {
      // Some sequences end early without an error when their task is cancelled.
      try Task.checkCancellation()
      return nil
    }
    requests.countReceived(bytes.count)
    await requests.origin.keepPace(after: bytes.count)
    return bytes
  }
}

/// A body whose chunks pass through a step, which has a state of its own in each iteration.
struct SteppedBody: AsyncSequence, Sendable {
  /// Receives a chunk, nil at the end, and returns what is passed on.
  typealias Step = (Data?) throws -> Data?

  private let body: any AsyncSequence<Data, any Error> & Sendable
  private let makeStep: @Sendable () -> Step

  init(
    _ body: any AsyncSequence<Data, any Error> & Sendable,
    _ makeStep: @Sendable @escaping () -> Step
  ) {
    (self.body, self.makeStep) = (body, makeStep)
  }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate var body: any AsyncIteratorProtocol<Data, any Error>
    fileprivate let step: Step

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
      try step(await body.next(isolation: actor))
    }
  }

  func makeAsyncIterator() -> Iterator {
    Iterator(body: body.makeAsyncIterator(), step: makeStep())
  }
}
