// SPDX-License-Identifier: MIT
public import Foundation
public import Refrain

extension Player {
  /// Creates a player with the platform's engine: AVPlayer on Apple's platforms, libmpv on Linux.
  ///
  /// - Throws: `MPVError` if libmpv is missing, too old, or cannot be set up.
  public convenience init(
    cache: MediaCache, configuration: Player.Configuration = Player.Configuration()
  ) async throws {
    #if os(Linux)
      let engine = try await MPVEngine(cache: cache, video: configuration.video)
    #else
      let engine = AVPlayerEngine(cache: cache)
    #endif
    self.init(cache: cache, engine: engine, configuration: configuration)
  }

  /// Returns the picture at `url`, read through the cache unless it is a file.
  ///
  /// - Throws: `MediaCacheError`, with code `.badRange` if it is larger than 16 MiB; for a file,
  ///   the error of reading it.
  public func artwork(at url: URL) async throws -> Data {
    let limit = Self.artworkLimit
    if url.isFileURL {
      return try await IOThreads.background.run { try Self.file(at: url) }
    }
    let reader = try await cache.open(Resource(url: url), fill: .onDemand)
    defer { reader.cancel() }
    let information = try await reader.contentInformation()
    guard information.length ?? 0 <= limit else { throw Self.tooLargePicture }
    return try await reader.bytes(in: 0..<(information.length ?? limit))
  }

  private nonisolated static var artworkLimit: Int64 { 16 << 20 }

  private nonisolated static var tooLargePicture: MediaCacheError {
    MediaCacheError(
      .badRange, "The picture is larger than \(artworkLimit >> 20) MiB.",
      remedy: "Use a smaller one.")
  }

  /// Blocks.
  private nonisolated static func file(at url: URL) throws -> Data {
    guard let file = try RegularFile(url) else {
      throw MediaCacheError(
        .badURL, "\(url.path(percentEncoded: false)) is not a file.",
        remedy: "Give the path of a picture.")
    }
    guard file.length <= artworkLimit else { throw tooLargePicture }
    return Data(file.bytes(in: 0..<file.length))
  }
}
