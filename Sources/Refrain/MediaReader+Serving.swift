// SPDX-License-Identifier: MIT
package import Foundation

/// For front doors that hand on the file itself instead of bytes read from it.
extension MediaReader {
  /// What is there at an offset.
  package enum Available: Sendable {
    /// In the file, from the offset up to there.
    case file(EntryFile, upTo: Int64)
    /// In memory, from the offset on.
    case memory(Data)
    case end
  }

  /// Waits until at least one byte at `offset` is there. Up to `count` bytes of it are taken to be
  /// read.
  package func available(at offset: Int64, count: Int) async throws -> Available {
    var failures = 0
    while true {
      let (generation, id, found) = try lookUp(at: offset, count: count)
      switch found {
      case .stored(let upTo, let file):
        // Cut short by somebody else: sendfile(2) would wait for what never comes.
        let wanted = Int(min(Int64(max(count, 1)), upTo - offset))
        guard file.reaches(offset + Int64(wanted)) else {
          failures += 1
          try recover(generation, file, offset, wanted, failures)
          continue
        }
        deliver(offset, Int(min(Int64(count), upTo - offset)))
        return .file(file, upTo: upTo)
      case .transient(let bytes):
        let part = bytes.prefix(count)
        deliver(offset, part.count)
        return .memory(part)
      case .end: return .end
      case .moved: try move(from: generation)
      case .failed(let error): throw error
      case .wait: try await generation.wait(id, at: Self.bounded(offset))
      }
    }
  }

  /// What is known of the resource, as by `contentInformation()`.
  package func knownResponse() async throws -> StoredResponse {
    while true {
      _ = try await contentInformation()
      if let known = generation.withState({ $0.known }) { return known }
    }
  }

  /// As `knownResponse()`; from here on the reader stays with the generation that this is known of.
  /// Whoever announces what it reads must not be given the bytes of another one.
  package func settle() async throws -> StoredResponse {
    while true {
      _ = try await knownResponse()
      let (generation, id) = try current()
      let settled = generation.withState { state -> StoredResponse? in
        guard !state.isSuperseded, state.readers[id]?.awaitsConfirmation == false else {
          return nil
        }
        state.readers[id]?.hasRead = true
        return state.known
      }
      if let settled { return settled }
    }
  }

  /// Whether what is known is the answer to a request with these fields (RFC 9111 §4.1).
  package func isSelected(_ known: StoredResponse, by request: HTTPFields) -> Bool {
    known.otherKey(than: entry.key, for: request) == nil
  }

  package var key: CacheKey { entry.key }

  /// All of a range is going to be read, and nothing else: the first request is made where it begins.
  package func setRange(_ range: ByteRange) {
    setEnd(range.upperBound, readsOn: true)
    // Whoever was cancelled asks for nothing.
    guard let (generation, id) = try? current() else { return }
    generation.withState { state in
      if state.readers[id]?.isActive == false {
        state.readers[id]?.position = Self.bounded(range.lowerBound)
      }
    }
  }

  /// It reads nothing for now: what was asked for on its behalf is not received any more.
  package func rest() {
    // Whoever was cancelled has left already.
    guard let (generation, id) = try? current() else { return }
    generation.perform { $0.rest(id) }
  }
}
