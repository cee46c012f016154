// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import RefrainPlayer

  /// The sound devices that `--device` names.
  enum SoundDevices {
    /// Returns libmpv's name of the device that a listener means.
    ///
    /// Several drivers list the same devices: the first driver counts that leaves no choice.
    ///
    /// - Parameter text: the name of a device, or a part of its description.
    static func find(_ text: String, among devices: [AudioDevice]) throws -> String {
      if let device = devices.first(where: { $0.name == text }) { return device.name }
      let similar = devices.filter {
        $0.description.range(of: text, options: [.caseInsensitive, .diacriticInsensitive]) != nil
      }
      guard let device = similar.first else {
        // Drivers open more devices than they list.
        if let driver = driver(of: text), devices.contains(where: { $0.name == driver }) {
          return text
        }
        throw ProgramError(
          "There is no sound device \(text).", remedy: "'refrain play --device list' shows all.")
      }
      if similar.allSatisfy({ $0.description == device.description }) { return device.name }
      let byDriver = Dictionary(grouping: similar) { $0.name.prefix { $0 != "/" } }
      if let only = similar.first(where: { byDriver[$0.name.prefix { $0 != "/" }]?.count == 1 }) {
        return only.name
      }
      let names = similar.map(\.name).joined(separator: ", ")
      throw ProgramError(
        "Several sound devices match \(text): \(names).", remedy: "Choose one by its name.")
    }

    /// Returns the driver of a name such as `alsa/hw:1,0`.
    private static func driver(of text: String) -> String? {
      let parts = text.split(separator: "/", maxSplits: 1)
      return parts.count == 2 ? String(parts[0]) : nil
    }

    /// Prints all devices, for people or for programs.
    static func show(asJSON: Bool) async throws {
      let devices = try await MPVEngine.audioDevices()
      if asJSON { return try Console.shared.print(JSONText.line(devices)) }
      let width = devices.map(\.name.count).max() ?? 0
      for device in devices {
        let name = printable(device.name).padding(toLength: width, withPad: " ", startingAt: 0)
        try Console.shared.print("\(name)  \(printable(device.description))")
      }
    }
  }
#endif
