// SPDX-License-Identifier: MIT
import Foundation

extension URLSessionRequests: RelayingTransport {
  func relay(_ request: RelayedRequest) async throws -> OriginResponse {
    let outgoing = OriginRequest(url: request.url, headers: request.headers)
    try outgoing.check()
    return try await exchange(outgoing, relaying: RelayedUpload(request))
  }
}

/// The properties of a relayed request that URLSession needs besides its URL and header fields.
struct RelayedUpload: Sendable {
  let method: String
  /// In seconds.
  let longestSilence: TimeInterval
  /// The body. URLSession could also read a stream, but on a thread that waits for it.
  let file: UploadFile?

  init(_ request: RelayedRequest) async throws {
    method = request.method
    longestSilence = TimeInterval(request.longestSilence.components.seconds)
    file = if let body = request.body { try await UploadFile(body) } else { nil }
  }
}

/// A temporary file, removed when its last user releases it.
final class UploadFile: Sendable {
  let url: URL

  /// Writes the whole body.
  init(_ body: RelayedRequest.Body) async throws {
    url = FileManager.default.temporaryDirectory.appending(
      path: "refrain-upload-\(UUID().uuidString)")
    let url = url
    let handle = try await IOThreads.shared.run {
      try Data().write(to: url, options: .withoutOverwriting)
      return try FileHandle(forWritingTo: url)
    }
    while let part = try await body.next() {
      try await IOThreads.shared.run { try handle.write(contentsOf: part) }
    }
    try await IOThreads.shared.run { try handle.close() }
  }

  // The system clears the directory of files that cannot be removed here.
  deinit { try? FileManager.default.removeItem(at: url) }
}
