//! A server that sends files of a folder from below some path, and keeps what is sent to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Where the folder is, as far as browsers know.
pub const BELOW: &str = "/some/where/";

/// Serves until the program ends. Returns the port, and what is posted.
pub fn serve(folder: &Path) -> (u16, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let (sender, posted) = channel();
    let folder = folder.to_owned();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (folder, sender) = (folder.clone(), sender.clone());
            std::thread::spawn(move || answer(&stream, &folder, &sender));
        }
    });
    (port, posted)
}

fn kind(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html",
        Some("js") => "text/javascript",
        Some("css") => "text/css",
        _ => "application/octet-stream",
    }
}

fn answer(stream: &TcpStream, folder: &Path, posted: &Sender<String>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let header = header.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut to = stream;
    if line.starts_with("POST") {
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        posted.send(String::from_utf8_lossy(&body).into_owned()).ok()?;
        return to.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").ok();
    }
    let path = line.split(' ').nth(1)?.split(['?', '#']).next()?;
    let path: PathBuf = folder.join(path.strip_prefix(BELOW)?);
    let Ok(body) = std::fs::read(&path) else {
        return to.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").ok();
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        kind(&path),
        body.len()
    );
    to.write_all(head.as_bytes()).ok()?;
    to.write_all(&body).ok()
}
