// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainPlayer

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// An app that shows video in a window of its own, until it is killed.
///
///     refrain-window-app WIDTH HEIGHT DIR URL SECONDS
///
/// Opens a white window, prints its ID, and shows the media in it, paused at that position. Bytes
/// come through the cache in the folder.
@main
struct WindowApp {
  @MainActor
  static func main() async throws {
    #if os(Linux)
      let arguments = CommandLine.arguments
      guard arguments.count == 6, let width = UInt32(arguments[1]),
        let height = UInt32(arguments[2]), let url = URL(string: arguments[4]),
        let seconds = Double(arguments[5])
      else { exit(64) }
      let window = try X11Window(width: width, height: height)
      let cache = try MediaCache(
        directory: URL(filePath: arguments[3], directoryHint: .isDirectory))
      var configuration = Player.Configuration()
      configuration.video = .embedded(windowID: window.id)
      let player = try await Player(cache: cache, configuration: configuration)
      let events = player.events()
      player.play([Media(url)], from: .seconds(seconds))
      player.pause()
      try FileHandle.standardOutput.write(contentsOf: Data("\(window.id)\n".utf8))
      for await _ in events {}
      await player.close()
      await cache.close()
    #else
      exit(64)
    #endif
  }
}
