// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Testing

  @testable import RefrainPlayer

  struct WindowTests {
    @Test func `Every key is bound once, and read by its number`() throws {
      let lines = MPVWindowKeys.section.split(separator: "\n")
      let keys = lines.map { $0.prefix { $0 != " " } }
      #expect(Set(keys).count == keys.count)
      // A comment, to libmpv.
      #expect(!keys.contains("#"))
      for (number, name) in MPVWindowKeys.names.enumerated() {
        #expect(lines[number].hasPrefix("\(name) "))
        let event = MPVWindowKeys.event([MPVWindowKeys.message, "\(number)"])
        #expect(event == (name == "CLOSE_WIN" ? .closeRequested : .key(name)))
      }
    }

    @Test(arguments: [
      [], ["refrain-key"], ["refrain-key", "-1"], ["refrain-key", "9999"], ["refrain-key", "n"],
      ["osc-message", "1"], ["refrain-key", "1", "2"],
    ])
    func `Other messages are ignored`(_ words: [String]) {
      #expect(MPVWindowKeys.event(words) == nil)
    }

    @Test func `Sound alone has the application's names too`() {
      var video = VideoConfiguration.none
      (video.applicationID, video.applicationName) = ("app", "An $app")
      let names = MPVVideoOptions.names(video)
      #expect(names.first { $0.name == "audio-client-name" }?.value == "app")
      #expect(names.first { $0.name == "title" }?.value.hasSuffix(" - }An $$app") == true)
    }

    @Test(arguments: [(.wayland, "auto"), (.x11, "no")] as [(Display, String)])
    func `Only on Wayland the controller may have buttons for the window`(
      _ display: Display, _ value: String
    ) {
      let options = MPVVideoOptions.optional(.window, on: display)
      #expect(options.first { $0.name == "script-opts" }?.value == "osc-windowcontrols=\(value)")
    }

    // MARK: Outputs

    @Test(arguments: [.wayland, nil] as [Display?])
    func `Every output and context is tried unless the display is X11`(_ display: Display?) {
      let outputs = MPVOutputs(on: display, in: [:], hasGPU: false)
      #expect(outputs.lists.first == "gpu,wlshm,x11" && outputs.contexts.isEmpty)
    }

    @Test(arguments: [false, true])
    func `On X11, Wayland is left out where its library would write an error`(_ hasGPU: Bool) {
      let silent = MPVOutputs(on: .x11, in: ["XDG_RUNTIME_DIR": "/run/user/1"], hasGPU: hasGPU)
      #expect(silent.lists.first == "gpu,x11" && silent.contexts.isEmpty)
      let outputs = MPVOutputs(on: .x11, in: [:], hasGPU: hasGPU)
      // Drawing in software costs less without a context.
      #expect(outputs.lists.first == (hasGPU ? "gpu,x11" : "x11"))
      #expect(outputs.contexts.contains("x11egl"))
      for value in silent.lists + outputs.lists + outputs.contexts {
        #expect(!value.contains("wl") && !value.contains("wayland"))
      }
    }

    @Test(
      arguments: [
        ([:], true), (["XDG_RUNTIME_DIR": ""], true), (["XDG_RUNTIME_DIR": "run"], true),
        (["WAYLAND_DISPLAY": "wayland-0"], true), (["XDG_RUNTIME_DIR": "/run/user/1"], false),
        (["WAYLAND_DISPLAY": "/tmp/w"], false),
      ] as [([String: String], Bool)])
    func `Without a place for its sockets, Wayland's library writes an error`(
      _ environment: [String: String], _ isReported: Bool
    ) {
      #expect(Display.reportsMissingWayland(in: environment) == isReported)
    }

    // MARK: Displays

    @Test func `The variables name the sockets of a display`() {
      typealias Address = Display.Address
      let folder = ["XDG_RUNTIME_DIR": "/run/user/1"]
      #expect(
        Address(wayland: folder.merging(["WAYLAND_DISPLAY": "wayland-0"]) { $1 })
          == .sockets(["/run/user/1/wayland-0"]))
      #expect(Address(wayland: ["WAYLAND_DISPLAY": "/tmp/w"]) == .sockets(["/tmp/w"]))
      #expect(Address(wayland: ["WAYLAND_DISPLAY": "wayland-0"]) == nil)
      #expect(Address(wayland: folder) == nil)
      let local = Address.sockets(["/tmp/.X11-unix/X7", "\0/tmp/.X11-unix/X7"])
      #expect(Address(x11: ["DISPLAY": ":7"]) == local)
      #expect(Address(x11: ["DISPLAY": "unix:7.1"]) == local)
      #expect(Address(x11: ["DISPLAY": "localhost:10.0"]) == .remote)
      for name in ["", "7", ":", ":x", ":99999"] { #expect(Address(x11: ["DISPLAY": name]) == nil) }
    }

    @Test func `A display that accepts no connection is none`() {
      let nowhere = "/tmp/refrain-\(UUID().uuidString)"
      #expect(Display.first(in: ["WAYLAND_DISPLAY": nowhere]) == nil)
      #expect(Display.first(in: ["DISPLAY": "host:1"]) == .x11)
      #expect(Display.first(in: [:]) == nil)
    }
  }
#endif
