// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import OriginServer
  import Refrain
  import RefrainAVFoundation

  /// A cache in a new directory over a new origin, for players.
  final class AssetTest: Sendable {
    let origin: OriginServer
    let directory: URL
    let cache: MediaCache
    let bytes: SyntheticBytes

    fileprivate init(
      origin: OriginServer, directory: URL, configuration: MediaCache.Configuration, seed: UInt64
    ) throws {
      self.origin = origin
      self.directory = directory
      bytes = SyntheticBytes(seed: seed)
      cache = try MediaCache(directory: directory, configuration: configuration)
    }

    /// Serves synthetic bytes; like most media files, they have a validator and no freshness.
    func serve(
      _ length: Int64, at path: String = "/song.wav", type: String = "audio/wav",
      _ change: (inout OriginResource) -> Void = { _ in }
    ) {
      var resource = OriginResource.synthetic(seed: bytes.seed, length: length)
      resource.contentType = type
      change(&resource)
      origin.serve(resource, at: path)
    }

    func resource(_ path: String = "/song.wav") -> Resource { Resource(url: origin.url(path)) }

    func player(_ path: String = "/song.wav", fill: FillPolicy? = nil) -> CheckedPlayer {
      CheckedPlayer(cache.asset(for: resource(path), fill: fill), bytes: bytes)
    }

    /// Returns a test with the same directory and origin, as after a relaunch of the app.
    func relaunched(
      _ change: (inout MediaCache.Configuration) -> Void = { _ in },
      _ body: (AssetTest) async throws -> Void
    ) async throws {
      await cache.close()
      let next = try AssetTest(
        origin: origin, directory: directory, configuration: Self.configuration(change),
        seed: bytes.seed)
      do { try await body(next) } catch {
        await next.cache.close()
        throw error
      }
      await next.cache.close()
    }

    /// Starts a new log once the origin has counted all bytes it sent before; the count may trail
    /// the reader.
    func forgetRequests(_ path: String = "/song.wav") async throws {
      _ = try await origin.wait(for: path) { $0.running == 0 }
      origin.resetLog(path)
    }

    /// The number of this process's descriptors that are files of the cache.
    var openDescriptors: Int {
      let directory = directory.resolvingSymlinksInPath().path(percentEncoded: false)
      let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
      return names.count { name in
        let target = try? FileManager.default.destinationOfSymbolicLink(
          atPath: "/proc/self/fd/\(name)")
        return target?.hasPrefix(directory) == true
      }
    }

    /// Retries come at once, because tests do not wait for a clock.
    fileprivate static func configuration(
      _ change: (inout MediaCache.Configuration) -> Void
    ) -> MediaCache.Configuration {
      var configuration = MediaCache.Configuration()
      configuration.limit = nil
      configuration.responseTimeout = .seconds(100)
      configuration.silenceTimeout = .seconds(100)
      configuration.retry.firstDelay = .milliseconds(1)
      configuration.retry.longestDelay = .milliseconds(20)
      change(&configuration)
      return configuration
    }
  }

  func withAssets(
    seed: UInt64 = 1, _ change: (inout MediaCache.Configuration) -> Void = { _ in },
    _ body: (AssetTest) async throws -> Void
  ) async throws {
    let origin = try await OriginServer.start()
    let directory = FileManager.default.temporaryDirectory
      .appending(path: "refrain-asset-\(UUID().uuidString)", directoryHint: .isDirectory)
    var failure: (any Error)?
    do {
      let test = try AssetTest(
        origin: origin, directory: directory, configuration: AssetTest.configuration(change),
        seed: seed)
      do { try await body(test) } catch { failure = error }
      await test.cache.close()
    } catch {
      failure = error
    }
    await origin.stop()
    try? FileManager.default.removeItem(at: directory)
    if let failure { throw failure }
  }
#endif
