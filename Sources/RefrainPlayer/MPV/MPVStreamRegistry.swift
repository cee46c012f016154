// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import Foundation
  import Refrain
  import RefrainLocks

  /// Maps `refrain://` addresses to playbacks.
  ///
  /// Addresses are numbers, not URLs: they carry no headers or keys, and mpv's messages reveal no
  /// secrets of a URL. Those of subtitles end with the name of the file, which is their title in the
  /// window's controller.
  final class MPVStreamRegistry: Sendable {
    private struct State {
      var next: UInt64 = 1
      var playbacks: [UInt64: MPVPlayback] = [:]
    }

    private let state = Mutex(State())

    /// Registers a playback under a new address.
    ///
    /// Without a name, the address has the extension of the media's path, which helps demuxers guess
    /// the format.
    ///
    /// - Parameter name: the last part of the address.
    func add(
      _ playback: MPVPlayback, name: String? = nil
    ) -> (number: UInt64, address: String) {
      let number = state.withLock { state in
        defer { state.next += 1 }
        state.playbacks[state.next] = playback
        return state.next
      }
      let ending = playback.item.media.url.pathExtension.lowercased()
      let isPlain =
        !ending.isEmpty
        && ending.utf8.allSatisfy { byte in
          (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
      let name = name ?? (isPlain ? "media.\(ending)" : "media")
      return (number, "\(MPVStream.scheme)://\(number)/\(name)")
    }

    func remove(_ number: UInt64) {
      state.withLock { $0.playbacks[number] = nil }
    }

    private func playback(at address: String) -> MPVPlayback? {
      let afterScheme = address.dropFirst("\(MPVStream.scheme)://".count)
      guard let number = UInt64(afterScheme.prefix { $0 != "/" }) else { return nil }
      return state.withLock { $0.playbacks[number] }
    }

    /// Makes `handle` open `refrain://` addresses here. mpv uses the returned reference until its
    /// core is gone; after that, the caller has to release it.
    func install(
      in handle: OpaquePointer, of mpv: MPVFunctions
    ) throws -> Unmanaged<MPVStreamRegistry> {
      let reference = Unmanaged.passRetained(self)
      let status = mpv.stream_cb_add_ro(handle, MPVStream.scheme, reference.toOpaque()) {
        registry, address, info in
        guard let registry, let address, let info else {
          return MPV_ERROR_LOADING_FAILED.rawValue
        }
        return Unmanaged<MPVStreamRegistry>.fromOpaque(registry).takeUnretainedValue()
          .open(String(cString: address), info)
      }
      guard status >= 0 else {
        reference.release()
        throw mpv.error(status, doing: "register streams of the cache")
      }
      return reference
    }

    private func open(
      _ address: String, _ info: UnsafeMutablePointer<mpv_stream_cb_info>
    ) -> CInt {
      guard let playback = playback(at: address), !playback.hasRefused(at: 0) else {
        return MPV_ERROR_LOADING_FAILED.rawValue
      }
      do {
        try MPVStream(of: playback).install(in: info)
        return 0
      } catch {
        playback.fail(at: 0, error)
        return MPV_ERROR_LOADING_FAILED.rawValue
      }
    }
  }
#endif
