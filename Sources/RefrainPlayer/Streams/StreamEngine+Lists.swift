// SPDX-License-Identifier: MIT
import Refrain

/// Items that are lists of media under a name of media.
extension StreamEngine {
  typealias ReadList = @Sendable (Media, MediaCacheError) async throws -> [Media]?

  /// Reads the current item as a list, since the other engine found no media in it, and it is no
  /// stream. It fails if it is no list either.
  func readCurrentAsList(after failure: MediaCacheError) {
    guard let media = current?.item.media, let id = current?.item.id, let readList else {
      return failCurrent(failure)
    }
    // It was read before, as one of the lists that it came from.
    if let error = media.selfListing { return failCurrent(error) }
    current?.lookup = Task { [weak self] in
      let result: Result<[Media]?, any Error>
      do {
        result = .success(try await readList(media, failure))
      } catch {
        result = .failure(error)
      }
      guard !Task.isCancelled else { return }
      self?.finishReading(of: id, result, after: failure)
    }
  }

  private func finishReading(
    of id: EngineItem.ID, _ result: Result<[Media]?, any Error>, after failure: MediaCacheError
  ) {
    current?.lookup = nil
    switch result {
    case .success(let media?) where !media.isEmpty:
      forget()
      reportList?(id, media, failure)
    case .success: failCurrent(failure)
    case .failure(let error): failCurrent(error as? MediaCacheError ?? failure)
    }
  }
}
