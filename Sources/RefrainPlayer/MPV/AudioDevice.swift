// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import Foundation

  /// A sound device, as libmpv lists it.
  public struct AudioDevice: Sendable, Hashable, Codable {
    /// The name for `MPVEngine.setAudioDevice(_:)`, as in `pulse/alsa_output.usb`.
    public var name: String
    /// The name for people.
    public var description: String

    public init(name: String, description: String) {
      self.name = name
      self.description = description
    }
  }

  extension MPVEngine {
    /// Returns the sound devices of the system, the default one first.
    ///
    /// - Throws: `MPVError` if libmpv is missing, too old, cannot be set up, or does not list them.
    public nonisolated static func audioDevices() async throws -> [AudioDevice] {
      try await withCheckedThrowingContinuation { continuation in
        let thread = Thread {
          continuation.resume(with: Result { try listDevices() })
        }
        thread.name = "refrain.devices"
        thread.start()
      }
    }

    /// Blocks: it loads libraries, and asks the sound servers.
    private nonisolated static func listDevices() throws -> [AudioDevice] {
      let mpv = try MPVLibrary.load()
      guard let handle = mpv.create() else {
        throw MPVError(
          "libmpv could not be started.",
          remedy: "Leave the numeric locale at \"C\": setlocale(LC_NUMERIC, \"C\").")
      }
      defer { mpv.terminate_destroy(handle) }
      for (name, value) in MPVOptions.all(output: .device) {
        try mpv.check(mpv.set_option_string(handle, name, value), "set \(name)=\(value)")
      }
      try mpv.check(mpv.initialize(handle), "start")
      // The property's text is JSON (mpv(1), "audio-device-list").
      let text = mpv.get_property_string(handle, "audio-device-list")
      defer { text.map { mpv.free($0) } }
      return try decoded(text.map { String(cString: $0) })
    }

    /// Decodes libmpv's list of devices; nil: it has returned none.
    nonisolated static func decoded(_ list: String?) throws -> [AudioDevice] {
      guard let list,
        let devices = try? JSONDecoder().decode([AudioDevice].self, from: Data(list.utf8))
      else {
        throw MPVError(
          "libmpv did not list the sound devices.", remedy: "Update libmpv, then try again.")
      }
      return devices
    }
  }
#endif
