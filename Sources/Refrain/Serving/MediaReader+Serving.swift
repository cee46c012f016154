// SPDX-License-Identifier: MIT
package import Foundation

/// For front ends that answer HTTP requests.
extension MediaReader {
  /// Returns the known response for the resource, waiting as `contentInformation()` does. From here
  /// on the reader stays with the generation of that response: a caller that announces it must not
  /// read the bytes of another one.
  package func settle() async throws -> StoredResponse {
    while true {
      _ = try await contentInformation()
      let (generation, id) = try current()
      let settled = generation.withState { state -> StoredResponse? in
        guard state.life != .superseded, state.readers[id]?.awaitsConfirmation == false,
          let known = state.known
        else { return nil }
        state.readers[id]?.received = .bytes
        return known
      }
      if let settled { return settled }
    }
  }

  /// The head, with all fields, of a response that is handed to this reader alone, since a shared
  /// cache must not store it; nil for any other response.
  package var handed: (status: Int, headers: HeaderFields)? {
    withState { state, id in state.handed.flatMap { $0.reader == id ? $0 : nil } }?
      .map { ($0.status, $0.headers) }
  }

  /// Reads or changes the state of the generation; not for a cancelled reader, which has left it.
  @discardableResult
  func withState<Result: Sendable>(
    _ body: (inout GenerationState, ReaderID) -> Result
  ) -> Result? {
    guard let (generation, id) = try? current() else { return nil }
    return generation.withState { body(&$0, id) }
  }

  package var key: CacheKey { entry.key }

  /// The status of the origin's last response for the resource, to any reader of the open entry.
  package var originStatus: Int? { entry.requests.lastStatus }

  /// Returns Via and Cache-Status of that response, as the caches and proxies behind this one have
  /// set them; none if it came before that time.
  package func originWay(since time: Date) -> HeaderFields { entry.requests.way(since: time) }

  /// Requests not one byte beyond the reader's end: of a resource that grows, the origin could hold
  /// the response back until that byte exists.
  package func requestNothingBeyondEnd() {
    withState { state, id in state.readers[id]?.minimum = 1 }
  }

  /// Returns the end of the bytes from an offset on that are stored, or that the origin has begun to
  /// send; the offset itself if there are none. Nil while it sends the whole resource.
  package func announcedEnd(from offset: Int64) -> Int64? {
    generation.withState { $0.announcedEnd(from: offset) }
  }

  /// Pauses the reader: bytes requested on its behalf are not received any more.
  package func rest() { withState { state, id in state.rest(id) } }
}
